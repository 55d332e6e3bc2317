import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Command } from 'commander'
import { TestPlatform, testTerminal, wordsOf } from '../testing.ts'
import { commandModules } from './commands.ts'
import { programFor } from './program.ts'

type CommandHelp = { path: string; command: Command; help: string }

const program = await programFor(testTerminal({}).terminal, Object.keys(commandModules))

/**
 * Returns every command with its help text. Commands of the API are left out, because they are generated from the
 * contracts.
 */
function helpOf(command: Command, path: string): CommandHelp[] {
  let help = ''
  const writeOut = (text: string) => {
    help += text
  }
  command.configureOutput({ writeOut, writeErr: () => {} })
  command.outputHelp()
  const below = path === 'api' ? [] : command.commands
  return [{ path, command, help }, ...below.flatMap((one) => helpOf(one, `${path} ${one.name()}`.trim()))]
}

const all = program.commands.flatMap((command) => helpOf(command, command.name()))

/** Returns the command lines in a help text, without pipes, redirections and remarks. */
function typedIn(help: string): string[] {
  return [...help.matchAll(/^ +(?:\S+ {2,}|[^<\n]*\| )?(?:[A-Z_]+=\S+ )*millwright (.*)$/gm)].map(([, line = '']) =>
    (line.split(/ {2,}| \| | [<>] /)[0] ?? '').trim(),
  )
}

test('the help of every command contains an example', () => {
  assert.ok(all.length > 100)
  assert.deepEqual(
    all
      .filter(({ path, help }) => !typedIn(help).some((line) => `${line} `.startsWith(`${path} `)))
      .map(({ path }) => path),
    [],
  )
})

test('every example of a help text is a valid command line', async () => {
  let executed = 0
  const isDoing = ({ commands }: Command, path: string) =>
    commands.length === 0 || ['gateway', 'gateway links'].includes(path)
  for (const { command, path } of all) if (isDoing(command, path)) command.action(() => void executed++)
  for (const line of new Set(all.flatMap(({ help }) => typedIn(help)))) {
    if (/^api\b/.test(line)) continue
    await assert.doesNotReject(program.parseAsync(wordsOf(line), { from: 'user' }), line)
  }
  assert.ok(executed > 100)
})

/** Returns the sort position of an example: commands that create come first, commands that delete come last. */
function rank(line: string): number {
  const ordered = [/ create /, / grant /, / disable /, / enable /, / rename /, / delete /]
  const index = ordered.findIndex((pattern) => pattern.test(line))
  return index === -1 ? 1.5 : index
}

test('the examples of access commands succeed on a new platform', async () => {
  await using platform = await TestPlatform.open()
  const { token } = await platform.as('administrator')
  const run = (words: string[]) => platform.run(words, { token, input: 'a password that is long enough\n' })
  await run(['assets', 'create', '--name', 'Drive 12', '--mac', '00-1B-1B-00-00-12'])
  // The examples of identity providers need a provider on the network. The tests of these commands start one.
  const lines = [...new Set(all.flatMap(({ help }) => typedIn(help)))].filter((line) =>
    /^access (?!providers )/.test(line),
  )
  assert.ok(lines.length > 30)
  const outcomes = { works: 0, codes: [] as string[] }
  for (const line of lines.toSorted((one, other) => rank(one) - rank(other))) {
    const { code, err } = await run(wordsOf(line))
    // An earlier example may have created or deleted the same name, and ids in examples are fictitious.
    const isRepeated = (code === 5 && / create /.test(line)) || (code === 4 && / (rename|delete|revoke) /.test(line))
    if (code === 0) outcomes.works++
    else if (!isRepeated) outcomes.codes.push(`${line}: ${err}`)
  }
  assert.deepEqual(outcomes.codes, [])
  assert.ok(outcomes.works > 25, `${outcomes.works} examples work`)
})
