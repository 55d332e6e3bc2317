import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { TestPlatform } from '../testing.ts'

let platform: TestPlatform
let token: string

before(async () => {
  platform = await TestPlatform.open()
  token = (await platform.as('administrator')).token
})

after(() => platform[Symbol.asyncDispose]())

async function succeed(...args: string[]): Promise<string> {
  const { code, out, err } = await platform.run(args, { token })
  assert.equal(code, 0, `${args.join(' ')}: ${err}`)
  return out
}

test('activity lists changes with their values, groups with their counts, and the changes of a group', async () => {
  for (const [name, mac] of [
    ['Drive 1', '00-1B-1B-00-00-01'],
    ['Drive 2', '00-1B-1B-00-00-02'],
  ] as const)
    await succeed('assets', 'create', '--name', name, '--mac', mac)
  await succeed('assets', 'onboard', 'Drive 1', 'Drive 2')
  const listed = await succeed('activity', '--kind', 'updated')
  assert.match(listed, /bulk edit: 2 changed/)
  assert.match(await succeed('activity', '--asset', 'Drive 1', '--kind', 'created'), /asset created +Drive 1/)
  const { data } = JSON.parse(await succeed('activity', 'list', '--kind', 'updated', '--json'))
  const members = await succeed('activity', 'group', data[0].cause.id)
  assert.match(members, /Drive 1 .*management_state: unknown → regarded/)
  assert.match(members, /Drive 2 /)
})

test('activity export prints CSV and NDJSON, and an unknown person is an error', async () => {
  const [header = '', ...rows] = (await succeed('activity', 'export', '--kind', 'created')).trim().split('\n')
  assert.match(header, /Time,Account,Action/)
  assert.equal(rows.length, 2)
  const lines = (await succeed('activity', 'export', '--format', 'ndjson', '--kind', 'created')).trim().split('\n')
  assert.deepEqual(
    lines.map((line) => JSON.parse(line).action),
    ['created', 'created'],
  )
  const unknown = await platform.run(['activity', '--person', 'unknown-person'], { token })
  assert.match(unknown.err, /Person "unknown-person" not found/)
})
