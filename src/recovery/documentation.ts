/** Paths that only people read. Package managers and builds read some `.txt` files, so a change of those needs checks. */
const documentation = /(?:^|\/)(?:docs?\/.*|[^/]+\.(?:md|mdx|txt|rst|adoc)|LICENSE|NOTICE)$/i
const readByPrograms = /(?:^|\/)(?:(?:requirements|constraints)[^/]*|CMakeLists)\.txt$/i

/** Whether the change needs no check, because it is empty or touches only documentation. */
export const isDocumentation = (paths: readonly string[]): boolean =>
  paths.every((path) => documentation.test(path) && !readByPrograms.test(path))
