import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { codeOf } from '@millwright/cloud/services/identity/factors/testing.ts'
import { person } from '@millwright/cloud/services/identity/testing.ts'
import { readProfile, signIn } from '../session/testing.ts'
import { type RunOptions, TestPlatform } from '../testing.ts'

let platform: TestPlatform
let token: string

before(async () => {
  platform = await TestPlatform.open()
  token = (await platform.as('administrator')).token
})

after(() => platform[Symbol.asyncDispose]())

async function succeed(args: string[], options: RunOptions & { token?: string } = {}): Promise<string> {
  const { code, out, err } = await platform.run(args, options)
  assert.equal(code, 0, `${args.join(' ')}: ${err}`)
  return out
}

type ListedSession = { id: string; isCurrent: boolean; isUnfamiliar: boolean }

const listed = async (args: string[], options: { token?: string } = {}): Promise<ListedSession[]> =>
  JSON.parse(await succeed([...args, '--json'], options)).data

describe('access policy', () => {
  test('shows the policy, changes only the given values, and rejects unknown actions', async () => {
    assert.match(await succeed(['access', 'policy'], { token }), /^secondFactor +nobody$/m)
    const changed = await succeed(
      ['access', 'policy', '--step-up', 'credentials, updates', '--idle-minutes', '60', '--absolute-hours', '12'],
      { token },
    )
    assert.match(changed, /^stepUp +credentials, updates$/m)
    assert.match(changed, /^idleMinutes +60$/m)
    const kept = JSON.parse(await succeed(['access', 'policy', '--step-up', 'none', '--json'], { token })).data
    assert.deepEqual([kept.stepUp, kept.idleMinutes, kept.absoluteHours], [[], 60, 12])
    assert.match(await succeed(['access', 'policy'], { token }), /^stepUp +none$/m)
    const unknown = await platform.run(['access', 'policy', '--step-up', 'credentials,fly'], { token })
    assert.equal(unknown.code, 2)
    assert.match(
      unknown.err,
      /^"fly" is not an action\.\nNext: use credentials, remote-access, updates, access, or none/,
    )
    assert.equal((await platform.run(['access', 'policy', '--idle-minutes', '1'], { token })).code, 2)
  })

  test('requires the permission to manage access for a change, but not to read the policy', async () => {
    const viewer = await platform.as('viewer')
    await succeed(['access', 'policy'], { token: viewer.token })
    const denied = await platform.run(['access', 'policy', '--idle-minutes', '60'], { token: viewer.token })
    assert.deepEqual([denied.code, /\(forbidden\)/.test(denied.err)], [3, true])
  })
})

describe('sessions', () => {
  test('a user lists their own sessions, and ends one session, all other sessions, or all sessions', async () => {
    const jane = await person(platform.hub, 'jane', 'viewer')
    for (const name of ['first', 'second', 'third']) await signIn(platform, jane.signInName, '--profile', name)
    const here = ['--profile', 'third']
    assert.match(await succeed(['sessions', ...here]), / cli .* this session/)
    const sessions = await listed(['sessions', 'list', ...here])
    assert.deepEqual([sessions.length, sessions.filter(({ isCurrent }) => isCurrent).length], [3, 1])

    const [first] = await listed(['sessions', 'list', '--profile', 'first'])
    const other = sessions.find(({ isCurrent }) => !isCurrent) ?? assert.fail('there is another session')
    assert.ok(first !== undefined)
    await succeed(['sessions', 'end', other.id, ...here])
    assert.equal((await listed(['sessions', 'list', ...here])).length, 2)

    const unsure = await platform.run(['sessions', 'end', '--others', ...here])
    assert.deepEqual([unsure.code, /pass --yes/.test(unsure.err)], [2, true])
    await succeed(['sessions', 'end', '--others', '--yes', ...here])
    assert.equal((await listed(['sessions', 'list', ...here])).length, 1)
    assert.equal((await platform.run(['whoami', '--profile', 'first'])).code, 3)
    assert.equal((await platform.run(['sessions', 'end', ...here])).code, 2, 'the command must say which session')
    assert.match(
      await succeed(['sessions', 'end', '--all', ...here], { answers: ['y'] }),
      /^You are signed out everywhere\.$/m,
    )
    assert.equal((await platform.run(['whoami', ...here])).code, 3)
  })

  test('a user cannot end or confirm the session of another user', async () => {
    const [one, two] = [await person(platform.hub, 'one', 'viewer'), await person(platform.hub, 'two', 'viewer')]
    await signIn(platform, one.signInName, '--profile', 'one')
    await signIn(platform, two.signInName, '--profile', 'two')
    const [session] = await listed(['sessions', 'list', '--profile', 'one'])
    const id = session?.id ?? assert.fail('there is a session')
    assert.equal((await platform.run(['sessions', 'end', id, '--profile', 'two'])).code, 4)
    assert.equal((await platform.run(['sessions', 'confirm', id, '--profile', 'two'])).code, 4)
    await succeed(['sessions', 'confirm', id, '--profile', 'one'])
    const [confirmed] = await listed(['sessions', 'list', '--profile', 'one'])
    assert.equal(confirmed?.isUnfamiliar, false)
  })

  test('an administrator lists and ends the sessions of a user', async () => {
    const john = await person(platform.hub, 'john', 'viewer')
    const none = await platform.run(['access', 'sessions', 'list', 'john'], { token })
    assert.deepEqual([none.code, none.err], [0, 'john has no sessions.\n'])
    await signIn(platform, john.signInName, '--profile', 'john')
    assert.match(await succeed(['access', 'sessions', 'list', 'john'], { token }), / cli /)
    await succeed(['access', 'sessions', 'end', 'john', '--yes'], { token })
    assert.equal((await platform.run(['whoami', '--profile', 'john'])).code, 3)
    const viewer = await platform.as('viewer')
    assert.equal((await platform.run(['access', 'sessions', 'list', john.id], { token: viewer.token })).code, 3)
  })
})

test('access users reset-second-factor removes the authenticator app, and access users list shows it', async () => {
  const joan = await person(platform.hub, 'joan', 'viewer')
  await signIn(platform, joan.signInName, '--profile', 'joan')
  const api = platform.hub.withToken(readProfile(platform, 'joan').accessToken).identity
  const { secret } = (await api.startTotp({})).data
  await api.confirmTotp({ body: { data: { code: codeOf(secret) } } })
  const joanRow = async () => (await succeed(['access', 'users', 'list'], { token })).match(/^.* joan .*$/m)?.[0] ?? ''
  assert.match(await joanRow(), / joan +Somebody +yes +no /)
  const unsure = await platform.run(['access', 'users', 'reset-second-factor', 'joan'], { token })
  assert.equal(unsure.code, 2)
  await succeed(['access', 'users', 'reset-second-factor', 'joan', '--yes'], { token })
  assert.match(await joanRow(), / joan +Somebody +no +no /)
  assert.equal((await platform.run(['whoami', '--profile', 'joan'])).code, 3, 'the sessions of the user ended')
})
