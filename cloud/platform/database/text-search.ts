/**
 * Returns the `tsquery` for texts that have all of these lexemes. With `isPrefix`, each lexeme may be the beginning of a
 * longer one. No lexeme may be empty.
 */
export function allLexemes(lexemes: readonly string[], { isPrefix }: { isPrefix: boolean }): string {
  const quoted = (lexeme: string) => lexeme.replaceAll('\\', '\\\\').replaceAll("'", "''")
  return lexemes.map((lexeme) => `'${quoted(lexeme)}'${isPrefix ? ':*' : ''}`).join(' & ')
}
