/** A project, and what an agent leaves of it. */
export interface Base {
  name: string
  files: Record<string, string>
  /** Programs without which its cases cannot be played. */
  needs?: string[]
}

export interface ProofCase {
  name: string
  title: string
  instructions: string
  allowedPaths: string[]
  commands: string[]
  /** By path; null = deleted. */
  work: Record<string, string | null>
}

/** Of a base: changes that turn its check green without the work, and honest ones. */
export interface Cases {
  base: Base
  fooling: ProofCase[]
  honest: ProofCase[]
}
