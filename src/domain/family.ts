/** The families of playbooks by their rung in the store. */
export const families = [
  'prepare',
  'permission',
  'provider',
  'progress',
  'verification',
  'policy',
  'infra',
  'merge',
  'queue',
  'person',
] as const
