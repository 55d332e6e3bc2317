import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Command } from 'commander'
import { parts } from './parts.ts'
import { programFor } from './program.ts'
import { testTerminal, wordsOf } from './testing.ts'

type Offered = { path: string; command: Command; help: string }

const program = await programFor(testTerminal({}).terminal, Object.keys(parts))

/** Every command with what its help says; those of the API derive from its contracts. */
function offered(command: Command, path: string): Offered[] {
  let help = ''
  const writeOut = (text: string) => {
    help += text
  }
  command.configureOutput({ writeOut, writeErr: () => {} })
  command.outputHelp()
  const below = path === 'api' ? [] : command.commands
  return [{ path, command, help }, ...below.flatMap((one) => offered(one, `${path} ${one.name()}`.trim()))]
}

const all = program.commands.flatMap((command) => offered(command, command.name()))

/** The command lines in a help, as they are typed: without what comes after them. */
function typedIn(help: string): string[] {
  return [...help.matchAll(/^ +(?:\S+ {2,}|[^<\n]*\| )?(?:[A-Z_]+=\S+ )*millwright (.*)$/gm)].map(([, line = '']) =>
    (line.split(/ {2,}| \| | [<>] /)[0] ?? '').trim(),
  )
}

test('every command shows what to type', () => {
  assert.ok(all.length > 100)
  assert.deepEqual(
    all
      .filter(({ path, help }) => !typedIn(help).some((line) => `${line} `.startsWith(`${path} `)))
      .map(({ path }) => path),
    [],
  )
})

test('what a help says to type is understood', async () => {
  let understood = 0
  const isDoing = ({ commands }: Command, path: string) => commands.length === 0 || path === 'gateway'
  for (const { command, path } of all) if (isDoing(command, path)) command.action(() => void understood++)
  for (const line of new Set(all.flatMap(({ help }) => typedIn(help)))) {
    if (/^api\b/.test(line)) continue
    await assert.doesNotReject(program.parseAsync(wordsOf(line), { from: 'user' }), line)
  }
  assert.ok(understood > 100)
})
