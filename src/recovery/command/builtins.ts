/**
 * Shell builtins without a program of the same name (or with a different one). Started directly they would fail, or pass
 * without affecting the commands after them, so a plan refuses them by name. `cd` is missing because the plan interprets it;
 * `echo`, `printf`, `test`, `[`, `true`, `false`, `pwd` and `kill` exist as programs.
 */
export const refusedBuiltins: ReadonlySet<string> = new Set(
  `
    . source eval exec command builtin enable type hash : export unset set shopt declare typeset local
    readonly let getopts shift read mapfile readarray alias unalias trap ulimit umask times caller help return
    exit logout break continue wait jobs fg bg disown suspend pushd popd dirs history fc bind complete compgen
    compopt
  `
    .trim()
    .split(/\s+/),
)
