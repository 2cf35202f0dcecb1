/** Paths that only people read. Some `.txt` files are read by a package manager or a build, and a change of those needs checks. */
const documentation = /(?:^|\/)(?:docs?\/.*|[^/]+\.(?:md|mdx|txt|rst|adoc)|LICENSE|NOTICE)$/i
const readByPrograms = /(?:^|\/)(?:(?:requirements|constraints)[^/]*|CMakeLists)\.txt$/i

/** Work of which nothing has to be checked: documentation alone, or no change. */
export const isDocumentation = (paths: readonly string[]): boolean =>
  paths.every((path) => documentation.test(path) && !readByPrograms.test(path))
