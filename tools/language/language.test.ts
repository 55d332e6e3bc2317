import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { checkLanguage } from './language.ts'
import { passagesOf } from './passages.ts'

const check = (file: string, content: string) => checkLanguage([{ file, content }], { exceptions: [] }).findings

describe('the language check', () => {
  test('reports the file, the line and a hint for a discouraged phrase', () => {
    assert.deepEqual(check('docs/page.md', '# Title\n\nA worker starts.\nThen nobody waits.\n'), [
      {
        file: 'docs/page.md',
        line: 4,
        text: 'nobody',
        hint: 'name the subject: "the caller", "the worker", "no process"',
      },
    ])
  })

  test('finds a discouraged phrase in a comment, even across two lines', () => {
    const code = 'const a = 1\n/**\n * The list goes\n * on at the cursor.\n */\n// The page goes\n// on here.\n'
    assert.deepEqual(
      check('cloud/list.ts', code).map(({ line, text }) => ({ line, text })),
      [
        { line: 3, text: 'goes on' },
        { line: 6, text: 'goes on' },
      ],
    )
  })

  test('finds a discouraged phrase in a text that the product prints', () => {
    assert.deepEqual(
      check('web/messages.ts', "export const text = { a: 'It was changed by somebody else' }\n").map(
        ({ line }) => line,
      ),
      [1],
    )
  })

  test('checks test titles and ignores other strings in tests', () => {
    const code = "test('nobody waits', () => assert.equal(name, 'somebody else'))\n"
    assert.deepEqual(
      check('cloud/list.test.ts', code).map(({ text }) => text),
      ['nobody'],
    )
  })

  test('reports a test title that starts with a conjunction', () => {
    assert.deepEqual(
      check('cloud/list.test.ts', "test('and returns 404', () => {})\n").map(({ text }) => text),
      ['and'],
    )
  })

  test('reports a type whose name is a participle', () => {
    assert.deepEqual(
      check('cloud/list.ts', 'export type Given = { a: string }\nexport type AssetTableProps = { a: string }\n').map(
        ({ line, text }) => ({ line, text }),
      ),
      [{ line: 1, text: 'Given' }],
    )
  })

  test('reports a sentence with too many words, and counts each table cell separately', () => {
    const words = (count: number) => Array.from({ length: count }, () => 'word').join(' ')
    assert.equal(check('docs/page.md', `${words(41)}.\n`).length, 1)
    assert.equal(check('docs/page.md', `${words(40)}. ${words(40)}.\n`).length, 0)
    assert.equal(check('docs/page.md', `| ${words(30)} | ${words(30)} |\n`).length, 0)
  })

  test('ignores code in pages and in backticks', () => {
    assert.deepEqual(check('docs/page.md', 'Run `told`.\n\n```sh\necho nobody\n```\n'), [])
  })

  test('ignores generated sections of pages', () => {
    const page = 'First.\n\n<!-- generated: x -->\n| nobody |\n<!-- end -->\n\nThen nobody.\n'
    assert.deepEqual(
      check('docs/page.md', page).map(({ line }) => line),
      [7],
    )
  })

  test('accepts a phrase with an exception, and reports an exception that matches nothing', () => {
    const used = { file: 'docs/page.md', text: 'nobody is the user name', reason: 'the name of an account' }
    const unused = { file: 'docs/page.md', text: 'anew', reason: 'not in the page' }
    const report = checkLanguage([{ file: 'docs/page.md', content: 'On Linux nobody is the user name.\n' }], {
      exceptions: [used, unused],
    })
    assert.deepEqual(report.findings, [])
    assert.deepEqual(report.unusedExceptions, [unused])
  })

  test('counts the checked passages', () => {
    assert.equal(checkLanguage([{ file: 'docs/page.md', content: 'One.\n\n- Two.\n- Three.\n' }]).passages, 3)
    assert.equal(checkLanguage([{ file: 'picture.png', content: 'nobody' }]).passages, 0)
  })
})

describe('the scanner', () => {
  const textsOf = (content: string) =>
    passagesOf('a.ts', content).map(({ kind, line, text }) => `${kind} ${line}: ${text.trim()}`)

  test('the scanner distinguishes comments, strings, templates and regular expressions', () => {
    const content = [
      'const pattern = /[\'"`]/g // first remark',
      "const address = 'http://host/ path' /* second remark */",
      // biome-ignore lint/suspicious/noTemplateCurlyInString: the scanned code contains a template
      "const nested = `outer ${isOn ? 'inner text' : `${x} y`} end`",
      "const half = a / b // it's the third remark",
    ].join('\n')
    assert.deepEqual(textsOf(content), [
      'comment 1: first remark',
      'text 2: http://host/ path',
      'comment 2: second remark',
      'text 3: outer value end',
      'text 3: inner text',
      'text 3: value y',
      "comment 4: it's the third remark",
    ])
  })

  test('the scanner continues after an apostrophe that does not start a string', () => {
    assert.deepEqual(textsOf("return <p>don't</p>\n// a remark\n"), ['comment 2: a remark'])
  })
})
