/** Hands a text to the browser as a file; it is made when a person asks for it. */
const keptMs = 10_000

export const saveFile = (name: string, type: 'text/plain' | 'text/html', parts: string[]): void => {
  const address = URL.createObjectURL(new Blob(parts, { type }))
  const link = document.createElement('a')
  link.href = address
  link.download = name
  link.click()
  setTimeout(() => URL.revokeObjectURL(address), keptMs)
}
