import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { splitCommands } from './sql-commands.ts'

const body = fc.string({ unit: fc.constantFrom('a', 'é', ';', ' ', '\n', '-', '/', '*', '$', '1') })
const noMark = (text: string) => text.replace(/[*/]/g, '')

/** Parts of a command that can contain a semicolon. */
const quoted = fc.oneof(
  body.map((text) => `'${text}'''`),
  body.map((text) => `E'${text}\\''`),
  body.map((text) => `e'${text}\\\\'\n'${text}\\''`),
  body.map((text) => `"${text}""x"`),
  body.map((text) => `$$${text.replaceAll('$', '')}$$`),
  body.map((text) => `$body$${text.replaceAll('$', '')};$$;$body$`),
)

const plain = fc.constantFrom('select', 'name$x$', 'x1', '(', ')', ',', '1', '$1', '-', '/', 'été')

const comment = fc.oneof(
  body.map((text) => `--${text.replaceAll('\n', '')}'"$$;\n`),
  body.map((text) => `/*${noMark(text)} ' /* ; ${noMark(text)}*/ $$ */`),
)

const command = fc.array(fc.oneof(quoted, plain), { minLength: 1, maxLength: 6 }).map((parts) => parts.join(' '))

describe('split of SQL text into commands', () => {
  test('ends a command only at a semicolon outside of quotes, dollar quotes and comments', () => {
    const separator = fc.tuple(comment, comment).map(([first, second]) => ` ${first} ; ${second} `)
    fc.assert(
      fc.property(fc.array(command, { maxLength: 6 }), separator, (commands, between) => {
        assert.deepEqual(splitCommands(commands.join(between)), commands)
      }),
      { numRuns: 1_000 },
    )
  })

  test('removes comments inside a command and ignores empty commands', () => {
    assert.deepEqual(splitCommands('-- first\n;create /* a; b */ table x ( -- c;\n y int);; /* end */'), [
      'create   table x (  \n y int)',
    ])
    assert.deepEqual(splitCommands(''), [])
  })

  test('refuses text with a quote or comment that is not closed, and names its line', () => {
    for (const text of ["select 1;\nselect 'a", 'select\n"a', 'select\n$x$ a $$', 'select\n/* /* */'])
      assert.throws(() => splitCommands(text), /in line 2 of the SQL text is not closed/)
  })
})
