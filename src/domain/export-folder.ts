/** Where the exports of the goals are in the owner's checkout, and the pattern by which no git of ours or the owner's counts them as changes. */
export const goalExports = { folder: '.unstuck/loops', ignored: '/.unstuck/loops/' } as const
