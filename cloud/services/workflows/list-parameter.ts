/** Returns the values of a repeatable query parameter, which may contain several values separated by commas. */
export function listParameter(parameter: string | readonly string[] | undefined): string[] | undefined {
  if (parameter === undefined) return undefined
  const values = [parameter].flat().flatMap((text) => text.split(','))
  return values.map((value) => value.trim()).filter((value) => value !== '')
}
