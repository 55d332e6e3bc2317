/**
 * Splits SQL text into its commands, without comments and without the semicolons. Semicolons in quotes, in
 * dollar-quoted bodies and in comments do not end a command. The body of a function must be quoted: `begin atomic` is
 * not supported.
 *
 * A server accepts several commands in one message, but a distributed database refuses several commands on distributed
 * tables in one message.
 */
export function splitCommands(text: string): string[] {
  const commands: string[] = []
  let command = ''
  for (let at = 0; at < text.length; ) {
    const token = nextToken(text, at)
    at += token.length
    if (token === ';') {
      commands.push(command)
      command = ''
    } else command += isComment(token) ? ' ' : token
  }
  return [...commands, command].map((part) => part.trim()).filter((part) => part !== '')
}

const word = String.raw`[\p{ID_Start}_\d][\p{ID_Continue}$]*`
const escapedBody = String.raw`'(?:[^'\\]|\\[\s\S]|'')*'`

/** The tokens of SQL that can contain a semicolon, and words. A string after a line break continues the string before. */
const tokens = new RegExp(
  [
    String.raw`--[^\n\r]*`,
    String.raw`\/\*`,
    `[eE]${escapedBody}(?:\\s*[\\n\\r]\\s*${escapedBody})*`,
    `'(?:[^']|'')*'`,
    '"(?:[^"]|"")*"',
    String.raw`\$(?:[\p{ID_Start}_][\p{ID_Continue}]*)?\$`,
    word,
    String.raw`[\s\S]`,
  ].join('|'),
  'uy',
)

function nextToken(text: string, at: number): string {
  tokens.lastIndex = at
  const token = tokens.exec(text)?.[0] ?? ''
  if (token === '/*') return blockComment(text, at)
  if (token === "'" || token === '"') throw unterminated('quote', text, at)
  if (!token.startsWith('$') || token.length === 1) return token
  const end = text.indexOf(token, at + token.length)
  if (end < 0) throw unterminated('dollar quote', text, at)
  return text.slice(at, end + token.length)
}

/** Returns the comment at a position. Block comments can be nested. */
function blockComment(text: string, at: number): string {
  let depth = 0
  for (const { 0: mark, index } of text.slice(at).matchAll(/\/\*|\*\//g)) {
    depth += mark === '/*' ? 1 : -1
    if (depth === 0) return text.slice(at, at + index + 2)
  }
  throw unterminated('comment', text, at)
}

function isComment(token: string): boolean {
  return token.startsWith('--') || token.startsWith('/*')
}

function unterminated(what: string, text: string, at: number): Error {
  const line = text.slice(0, at).split('\n').length
  return new Error(`The ${what} in line ${line} of the SQL text is not closed.`)
}
