/** The scripts that the text of a package.json declares; none where it cannot be read. */
export const manifestScripts = (text: string | undefined): Record<string, unknown> => {
  try {
    return (JSON.parse(text ?? '{}') as { scripts?: Record<string, unknown> }).scripts ?? {}
  } catch {
    return {} // a broken manifest has no script
  }
}
