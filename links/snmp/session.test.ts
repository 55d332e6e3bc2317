import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Permits } from '@millwright/link-sdk/network/permits.ts'
import { unlimitedPermits } from '@millwright/link-sdk/testing/permits.ts'
import { publicLogin } from './login.ts'
import { Session } from './session.ts'
import { type AgentOptions, startSnmpAgent } from './simulator.ts'
import { systemValues } from './simulator-switch.ts'

const values = systemValues({ name: 'switch', location: 'Hall 3' })
const [name, location] = ['1.3.6.1.2.1.1.5.0', '1.3.6.1.2.1.1.6.0']
const once = { attempts: 1 }
const turn = () => new Promise((resolve) => setImmediate(resolve))
const timers = () => process.getActiveResourcesInfo().filter((resource) => resource === 'Timeout').length

type SessionSettings = { timeoutMs?: number; permits?: Permits; signal?: AbortSignal }

async function startSession(answers: NonNullable<AgentOptions['answers']>, settings: SessionSettings = {}) {
  const resources = new AsyncDisposableStack()
  const agent = resources.use(await startSnmpAgent({ host: '127.0.48.1', community: 'public', values, answers }))
  const signal = new AbortController().signal
  const place = { address: agent.host, port: agent.port }
  const options = { ...place, timeoutMs: 10_000, permits: unlimitedPermits(), signal, ...settings }
  const session = resources.use(new Session(publicLogin, options))
  return { agent, session, [Symbol.asyncDispose]: () => resources.disposeAsync() }
}

/** Reads the value of an OID as text. */
async function read(session: Session, oid: string): Promise<string> {
  const [varbind] = await session.get([oid])
  return String(varbind?.value)
}

describe('a request', () => {
  test('is answered if the answer arrives while the process pauses', async () => {
    const pause = () => void Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 400)
    const answers = (answer: Buffer) => {
      pause()
      return [answer]
    }
    await using running = await startSession(answers, { timeoutMs: 200 })
    assert.equal((await running.session.getNext([name], once)).length, 1)
    assert.equal(running.agent.requests.length, 1)
  })

  test('is not answered by the late answer to an earlier request', async () => {
    const late: Buffer[] = []
    const answers = (answer: Buffer) => {
      late.push(answer)
      return late.length < 3 ? [] : [...late.splice(0)]
    }
    await using running = await startSession(answers, { timeoutMs: 200 })
    await assert.rejects(read(running.session, name), { kind: 'silent', isTimeout: true })
    assert.equal(running.agent.requests.length, 2, 'a request is repeated once')
    assert.equal(await read(running.session, location), 'Hall 3')
  })

  test('leaves no timer when it is not answered, and when it is canceled while it is sent', async () => {
    // Other tests in the same process can start and end timers. A request that leaves a timer does so in each attempt.
    const changes: [number, number][] = []
    while (changes.length < 5 && !changes.some(([first, second]) => first <= 0 && second <= 0))
      changes.push(await leftTimers())
    assert.ok(changes.length < 5, `timers left by each attempt: ${JSON.stringify(changes)}`)
  })

  /** Returns the number of timers that a request without an answer and a canceled request left. */
  const leftTimers = async (): Promise<[number, number]> => {
    const before = timers()
    let afterSilence: number
    {
      await using running = await startSession(() => [], { timeoutMs: 50 })
      await assert.rejects(running.session.getNext([name], once), { kind: 'silent' })
      afterSilence = timers()
    }
    const canceling = new AbortController()
    const take = async () => {
      // The datagram is sent in the next steps, and its completion is reported in a later tick.
      process.nextTick(() => canceling.abort(new Error('canceled')))
      return { [Symbol.dispose]: () => undefined }
    }
    await using running = await startSession((answer) => [answer], { permits: { take }, signal: canceling.signal })
    await assert.rejects(running.session.getNext([name], once), /canceled/)
    for (let count = 0; count < 5; count += 1) await turn()
    return [afterSilence - before, timers() - before]
  }
})
