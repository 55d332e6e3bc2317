import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { parts } from './parts.ts'
import { exitCodeHelp } from './report.ts'
import { TestPlatform, wordsOf } from './testing.ts'

/** The page about the command line: its examples work, and what it says is so. */

const page = readFileSync(new URL('../docs/command-line.md', import.meta.url), 'utf8')
const examples = [...page.matchAll(/^```sh\n([\s\S]*?)^```$/gm)].flatMap(([, text = '']) => text.trim().split('\n'))

let platform: TestPlatform
let token: string

before(async () => {
  platform = await TestPlatform.open()
  token = (await platform.as('administrator')).token
})

after(() => platform[Symbol.asyncDispose]())

describe('on the page about the command line', () => {
  test('there are examples', () => assert.ok(examples.length > 30))

  for (const line of examples) {
    test(line, async () => {
      const [program, ...given] = wordsOf(line)
      assert.equal(program, 'millwright')
      const words = given.map((word) => (word === 'gateway-config.json' ? join(platform.folder, word) : word))
      const { code, err } = await platform.run(words, { token })
      assert.equal(code, 0, err)
    })
  }

  test('what a graph looks like is what it looks like', async () => {
    const { out } = await platform.run(['graph', 'Rack 1'], { token })
    assert.ok(page.includes(`\`\`\`text\n${out}\`\`\``), out)
  })

  test('the exit codes are those of the help', () => {
    for (const line of exitCodeHelp.split('\n').slice(1)) {
      const [, code, meaning] = /^ +(\d+) +(.*)$/.exec(line) ?? []
      assert.ok(page.includes(`| ${code} | ${meaning} |`), line)
    }
  })

  test('every command is named', () => {
    const missing = Object.keys(parts).filter((name) => !new RegExp(`(millwright |\`)${name}\\b`).test(page))
    assert.deepEqual(
      missing.filter((name) => name !== 'schemas'),
      [],
    )
  })
})
