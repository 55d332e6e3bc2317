import assert from 'node:assert/strict'
import { copyFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { type Contract, isEventStream, isInternal, isMedia, type Operation, pathOf } from '@millwright/api/contract.ts'
import { contracts } from '@millwright/api/contracts.ts'
import { runCommand } from './command.ts'
import { bearer, callerOf, type Platform, signIn, startPlatform, temporaryFolder, tokenOf } from './platform.ts'
import { millwright } from './program.ts'

const [first, second, third] = [temporaryFolder(), temporaryFolder('restored'), temporaryFolder('wrong')]
after(() => {
  for (const folder of [first, second, third]) folder[Symbol.dispose]()
})

/** Lists that change during the test. The sign-ins of the test add entries to the audit trail and to the events. */
const moving = ['listEntries', 'listEvents', 'verify']

/** Every list of the public API without mandatory parameters. */
const lists = Object.values(contracts as Record<string, Contract>).flatMap((contract) =>
  Object.entries(contract.operations)
    .filter(([name, operation]) => isList(operation) && !moving.includes(name))
    .map(([, operation]) => pathOf(contract, operation)),
)

function isList(operation: Operation): boolean {
  const { method, params, access, answers } = operation
  const answer = answers[200]
  if (method !== 'GET' || params !== undefined || access === 'public' || isInternal(operation)) return false
  return answer !== undefined && !isMedia(answer) && !isEventStream(answer) && operation.query?.required === undefined
}

async function readEverything({ baseUrl }: Platform, token: string): Promise<Record<string, unknown>> {
  const content: Record<string, unknown> = {}
  for (const path of lists) {
    const response = await fetch(`${baseUrl}${path}`, { headers: bearer(token) })
    const body = (await response.json()) as { code?: string }
    // Each problem document has its own trace id.
    content[path] = [response.status, response.ok ? body : body.code]
  }
  return content
}

test('backs up a running platform, and restores all data into an empty home', async () => {
  const file = join(first.path, 'backup.tar.gz')
  let access: Platform['access']
  let content: Record<string, unknown>
  let trail: { id: string }[]
  {
    await using platform = await startPlatform({ home: first.path })
    access = platform.access
    const caller = await callerOf(platform)
    await fillIn(caller)
    const made = await runCommand(['plant', 'generate', '--assets', '120'], { home: first.path })
    assert.equal(made.code, 0, made.stderr)
    trail = (await caller.audit.listEntries({ query: { limit: 20 } })).data
    const nowhere = await runCommand(['backup', join(first.path, 'nowhere/file')], { home: first.path })
    assert.match(nowhere.stderr, /^\S+file cannot be written \(ENOENT\)\.\nNext: [^\n]+\n$/)
    const taken = await millwright(['backup', file], { home: first.path }).ended
    assert.equal(taken.code, 0, taken.stderr)
    assert.match(taken.stdout, /It does not contain the master key: back up the key separately\.\n$/)
    assert.equal(statSync(file).mode & 0o777, 0o600)
    content = await readEverything(platform, caller.token)
  }
  assert.ok(lists.length > 12)

  const without = await runCommand(['restore', file], { home: second.path })
  assert.equal(without.code, 1)
  assert.match(without.stderr, /^The master key of the backup is missing\.\nNext: copy the key to /)

  const environment = { MILLWRIGHT_MASTER_KEY: Buffer.alloc(32, 7).toString('base64') }
  const wrong = await runCommand(['restore', file], { home: third.path, environment })
  assert.equal(wrong.code, 1)
  assert.match(wrong.stderr, /^The master key does not match this database/)

  copyFileSync(join(first.path, 'master.key'), join(second.path, 'master.key'))
  const back = await millwright(['restore', file], { home: second.path }).ended
  assert.equal(back.code, 0, back.stderr)
  assert.match(back.stdout, /^Restored \d+ rows in \d+ tables and 0 contents of artefacts, as of /)
  const again = await runCommand(['restore', file], { home: second.path })
  assert.match(again.stderr, /^The database is not empty /)

  await using restored = await startPlatform({ home: second.path })
  const token = await tokenOf(restored.baseUrl, access)
  assert.deepEqual(await readEverything(restored, token), content)
  const caller = await callerOf({ baseUrl: restored.baseUrl, access }, token)
  const { data } = await caller.audit.listEntries({ query: { limit: 100 } })
  const here = new Set(data.map(({ id }) => id))
  assert.ok(trail.length > 5 && trail.every(({ id }) => here.has(id)), 'the audit trail continues')
  assert.equal((await caller.audit.verify({})).data.intact, true)
  assert.ok('token' in (await signIn(restored.baseUrl, { name: 'admin', password: access.adminPassword })))
})

async function fillIn(caller: Awaited<ReturnType<typeof callerOf>>): Promise<void> {
  const { data: user } = await caller.identity.createServerUser({ body: { data: { name: 'historian' } } })
  await caller.authorization.createGrant({ body: { data: { principal: user.id, role: 'viewer' } } })
  await caller.onboarding.createGateway({ body: { data: { name: 'Hall 4' } } })
  await caller.inventory.createCustomProperty({ body: { data: { name: 'Cost centre' } } })
}
