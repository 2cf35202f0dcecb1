/** Where the exports are in the owner's checkout, and the patterns by which no git of ours or the owner's counts them as changes. */
export const goalExports = { folder: '.unstuck/loops', ignored: '/.unstuck/loops/' } as const
export const contextExports = { folder: '.unstuck/context', ignored: '/.unstuck/context/' } as const
