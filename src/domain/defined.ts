type Defined<Values> = { [Key in keyof Values]?: Exclude<Values[Key], undefined> }

/** These values without the keys whose value is undefined: for an optional property, undefined is not the same as absent. */
export const defined = <const Values extends Readonly<Record<string, unknown>>>(values: Values): Defined<Values> =>
  Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined)) as Defined<Values>
