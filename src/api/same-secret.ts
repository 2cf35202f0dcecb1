import { createHash, timingSafeEqual } from 'node:crypto'

const digest = (text: string): Buffer => createHash('sha256').update(text).digest()

/**
 * Compares in constant time, so that timing reveals nothing about the secret. The texts are compared and not what they decode to: base64 has
 * several spellings of the same bytes, and a signature has one.
 */
export const sameSecret = (given: string, wanted: string): boolean => timingSafeEqual(digest(given), digest(wanted))
