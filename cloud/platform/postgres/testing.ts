import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, chownSync, mkdtempSync, rmSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { text } from 'node:stream/consumers'
import { growingPause } from '@millwright/api/test-effort.ts'
import pg from 'pg'
import { type Owner, systemUsers } from './account.ts'
import type { Connection, PostgresOptions } from './postgres.ts'

/** Faster settings for tests. The data of tests need not survive a crash. */
export const quick = { fsync: false, shared_buffers: '16MB' }
export const isRoot = process.getuid?.() === 0
export const nobody: Owner = systemUsers().find(({ name }) => name === 'nobody') ?? { uid: 65534, gid: 65534 }

/** Creates a folder that the server's user can enter. The folder is removed at the end of the test. */
export function temporaryFolder(owner?: Owner): { path: string } & Disposable {
  const folder = mkdtempSync(path.join(os.tmpdir(), 'millwright-test-'))
  chmodSync(folder, 0o755)
  if (owner !== undefined) chownSync(folder, owner.uid, owner.gid)
  return { path: folder, [Symbol.dispose]: () => rmSync(folder, { recursive: true, force: true }) }
}

export async function query(connection: Connection, sql: string): Promise<unknown[]> {
  const client = new pg.Client(connection)
  await client.connect()
  try {
    return (await client.query(sql)).rows
  } finally {
    await client.end()
  }
}

export async function until(condition: () => boolean | Promise<boolean>, limitMs = 120_000): Promise<void> {
  const deadline = Date.now() + limitMs
  const pause = growingPause()
  while (!(await condition())) {
    assert.ok(Date.now() < deadline, `not within ${limitMs} ms: ${condition}`)
    await pause()
  }
}

export type OwnerProcess = { child: ChildProcess; connection: Connection } & AsyncDisposable

const ownerProgram = `
  const [module, options] = process.argv.slice(1)
  const { startPostgres } = await import(module)
  try {
    const server = await startPostgres(JSON.parse(options))
    process.stdout.write(JSON.stringify(server.connection) + '\\n')
    process.stdin.resume().on('end', () => server.stop())
  } catch (error) {
    process.stderr.write(error.name + ': ' + error.message)
    process.exitCode = error.exitCode
  }`

/**
 * Starts a server in another process. `wrapper` is a program that runs the other process under special
 * conditions.
 */
function spawnOwner(options: PostgresOptions, { owner, wrapper = [] }: { owner?: Owner; wrapper?: string[] } = {}) {
  const module = new URL('./postgres.ts', import.meta.url).href
  const own = [process.execPath, '--input-type=module', '--eval', ownerProgram, module]
  const [program = '', ...programArguments] = [...wrapper, ...own, JSON.stringify({ settings: quick, ...options })]
  return spawn(program, programArguments, { ...owner, cwd: '/', stdio: ['pipe', 'pipe', 'pipe'] })
}

/** Starts a process that runs a server until it is disposed or killed. */
export async function ownerProcess(options: PostgresOptions, as: { owner?: Owner } = {}): Promise<OwnerProcess> {
  const child = spawnOwner(options, as)
  const errors = text(child.stderr)
  const exited = once(child, 'exit')
  const line = await Promise.race([once(child.stdout, 'data'), exited.then(() => undefined)])
  if (line === undefined) assert.fail(await errors)
  return {
    child,
    connection: JSON.parse(`${line[0]}`),
    async [Symbol.asyncDispose]() {
      child.stdin.end()
      await exited
    },
  }
}

/** Returns the error message of a start that must fail. */
export async function refusal(
  options: PostgresOptions,
  as: { owner?: Owner; wrapper?: string[] } = {},
): Promise<{ code: number | null; message: string }> {
  const child = spawnOwner(options, as)
  child.stdin.end()
  const [[code], message] = await Promise.all([once(child, 'exit'), text(child.stderr)])
  return { code, message }
}
