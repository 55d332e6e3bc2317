import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { TestPlatform, wordsOf } from '../testing.ts'
import { commandModules } from './commands.ts'

/** These tests check the how-to guide of the command line: its examples work, and it names every command. */

const page = readFileSync(new URL('../../docs/how-to/use-the-command-line.md', import.meta.url), 'utf8')
const examples = [...page.matchAll(/^```sh\n([\s\S]*?)^```$/gm)].flatMap(([, text = '']) => text.trim().split('\n'))

let platform: TestPlatform
let token: string

before(async () => {
  platform = await TestPlatform.open()
  token = (await platform.as('administrator')).token
})

after(() => platform[Symbol.asyncDispose]())

describe('the how-to guide of the command line', () => {
  test('the how-to guide of the command line has more than 30 examples', () => assert.ok(examples.length > 30))

  for (const line of examples) {
    test(`the example "${line}" succeeds`, async () => {
      const [program, ...args] = wordsOf(line)
      assert.equal(program, 'millwright')
      const words = args.map((word) => (word === 'gateway-config.json' ? join(platform.folder, word) : word))
      const { code, err } = await platform.run(words, { token })
      assert.equal(code, 0, err)
    })
  }

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
