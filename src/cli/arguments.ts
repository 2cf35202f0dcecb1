/** Values of options as the command line takes them; what does not fit is told by the parser, with the option's name. */
import { InvalidArgumentError } from 'commander'

export const positive = (text: string): number => {
  const value = Number(text)
  if (text.trim() === '' || !Number.isFinite(value) || value <= 0)
    throw new InvalidArgumentError('give a number above 0')
  return value
}

export const portNumber = (text: string): number => {
  const value = Number(text)
  if (!Number.isInteger(value) || value < 0 || value > 65_535)
    throw new InvalidArgumentError('give a port from 0 to 65535')
  return value
}

export const collect = (value: string, before: string[]): string[] => [...before, value]
