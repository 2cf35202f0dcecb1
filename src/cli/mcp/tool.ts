/** A tool as MCP describes it, and what it does. */
import { z } from 'zod'

export interface McpTool {
  name: string
  description: string
  inputSchema: { type: 'object'; [key: string]: unknown }
  annotations: { title: string; readOnlyHint: boolean; destructiveHint: false; openWorldHint: false }
  /** Returns the text for the model. Throws an AppError whose message tells it what to correct. */
  call(given: Record<string, unknown>, signal: AbortSignal): Promise<string>
}

/** A client that knows these hints runs the tool without asking a person, who is not there. */
export const hints = (title: string, readOnlyHint: boolean): McpTool['annotations'] => ({
  title,
  readOnlyHint,
  destructiveHint: false,
  openWorldHint: false,
})

/** Providers of models refuse schemas with patterns that they cannot compile. The engine checks the texts. */
const withoutPattern = ({ jsonSchema }: { jsonSchema: object }): void => {
  delete (jsonSchema as { pattern?: string }).pattern
}

export const toolSchema = (schema: z.ZodType): McpTool['inputSchema'] => {
  const { $schema: _schema, ...rest } = z.toJSONSchema(schema, { io: 'input', override: withoutPattern })
  return rest as McpTool['inputSchema']
}
