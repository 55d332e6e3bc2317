import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { TestPlatform, wordsOf } from '../testing.ts'
import { commandModules } from './commands.ts'

/** These tests check the guides with examples of the command line: the examples work, and one guide names every command. */

const pageOf = (name: string) => readFileSync(new URL(`../../docs/how-to/${name}.md`, import.meta.url), 'utf8')
const blocksOf = (page: string, language: string) =>
  [...page.matchAll(/^```(\w+)\n([\s\S]*?)^```$/gm)].flatMap(([, name, text = '']) => (name === language ? [text] : []))

/** The files that the examples read or write. */
const fileNames = ['assets.xlsx', 'gateway-config.json', 'plant.csv', 'rules.json', 'template.xlsx']

let platform: TestPlatform
let token: string

/** Runs the examples of a guide in their order, on a new platform. */
function testExamples(page: string): void {
  before(async () => {
    platform = await TestPlatform.open()
    token = (await platform.as('administrator')).token
  })

  after(() => platform[Symbol.asyncDispose]())

  for (const line of blocksOf(page, 'sh').flatMap((text) => text.trim().split('\n'))) {
    test(`the example "${line}" succeeds`, async () => {
      const [program, ...args] = wordsOf(line)
      assert.equal(program, 'millwright')
      const words = args.map((word) => (fileNames.includes(word) ? join(platform.folder, word) : word))
      const { code, err } = await platform.run(words, { token })
      assert.equal(code, 0, err)
    })
  }
}

describe('the how-to guide of hierarchies', () => {
  const page = pageOf('organise-assets-in-hierarchies')

  testExamples(page)
  before(() => writeFileSync(join(platform.folder, 'rules.json'), blocksOf(page, 'json')[0] ?? ''))

  test('the how-to guide of hierarchies shows a CSV file that can be imported', async () => {
    const [input = ''] = blocksOf(page, 'csv')
    const { code, out } = await platform.run(['hierarchy', 'import', '-'], { token, input })
    assert.deepEqual([code, out], [0, '0 created, 1 updated, 2 unchanged\n'])
  })
})

describe('the how-to guide of the command line', () => {
  const page = pageOf('use-the-command-line')

  testExamples(page)

  test('the how-to guide of the command line has more than 30 examples', () =>
    assert.ok(blocksOf(page, 'sh').join('').split('\n').length > 30))

  test('the how-to guide of the command line shows the graph that the command prints', async () => {
    const { out } = await platform.run(['graph', 'Rack 1'], { token })
    assert.ok(page.includes(`\`\`\`text\n${out}\`\`\``), out)
  })

  test('the how-to guide of the command line names every command', () => {
    const missing = Object.keys(commandModules).filter((name) => !new RegExp(`(millwright |\`)${name}\\b`).test(page))
    assert.deepEqual(
      missing.filter((name) => name !== 'schemas'),
      [],
    )
  })
})
