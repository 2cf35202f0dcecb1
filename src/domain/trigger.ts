/** What begins the goal of a schedule instead of a time: new commits of the branch, or a failed check of its head on the forge. */
export const triggers = ['push', 'ci-failed'] as const
export type Trigger = (typeof triggers)[number]

export const isTrigger = (name: string): name is Trigger => triggers.some((one) => one === name)
