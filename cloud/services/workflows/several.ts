/** The values of a parameter that came once or more often, each with one value or several between commas. */
export function several(given: string | readonly string[] | undefined): string[] | undefined {
  if (given === undefined) return undefined
  const values = [given].flat().flatMap((text) => text.split(','))
  return values.map((value) => value.trim()).filter((value) => value !== '')
}
