/** Returns an integer from `lowest` to `highest`, or undefined if the text is another value. */
export function integerOf(text: string, highest: number, lowest = 1): number | undefined {
  const value = /^\d{1,6}$/.test(text.trim()) ? Number(text) : -1
  return value >= lowest && value <= highest ? value : undefined
}
