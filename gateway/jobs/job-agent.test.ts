import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { Problem } from '@millwright/api/problem.ts'
import type { CloudConnection } from '../cloud-connection.ts'
import { createLog } from '../log.ts'
import { JobAgent } from './job-agent.ts'

type LeaseRequest = { workflows: string[]; activeJobs?: string[] }

/** A platform whose requests for a job wait until the test answers them. */
function createPlatform() {
  const requests: { data: LeaseRequest; answer: (job?: string) => void; refuse: (error: Error) => void }[] = []
  let onRequest = () => {}
  const leaseJob = ({ body: { data } }: { body: { data: LeaseRequest } }) =>
    new Promise((resolve, reject) => {
      const answer = (job?: string) =>
        resolve(
          job && {
            data: { job: { id: job, workflow: { name: 'discovery' }, status: {} }, lease: { id: `of ${job}` } },
          },
        )
      requests.push({ data, answer, refuse: reject })
      onRequest()
    })
  const cloud = { gatekeeper: { leaseJob, renewLease: () => new Promise(() => {}) } } as unknown as CloudConnection
  const request = async (number: number) => {
    while (requests[number] === undefined)
      await new Promise<void>((resolve) => {
        onRequest = resolve
      })
    return requests[number]
  }
  const close = () => {
    for (const { refuse } of requests) refuse(new Error('closed'))
  }
  return { cloud, request, close }
}

/** Starts an agent whose jobs end when the test ends them. A job without an outcome is released. */
function startAgent(context: TestContext) {
  const { cloud, request, close } = createPlatform()
  const started: string[] = []
  const endings = new Map<string, (outcome?: { state: string }) => void>()
  const agent = new JobAgent<{ state: string }>({
    workflows: ['discovery'],
    concurrentJobs: 4,
    cloud,
    log: createLog({ level: 'silent' }),
    ready: () => Promise.resolve(),
    work: ({ job, signal }) => {
      started.push(job.id)
      return new Promise((resolve) => {
        endings.set(job.id, resolve)
        signal.addEventListener('abort', () => resolve(undefined))
      })
    },
    end: () => Promise.resolve(),
  })
  agent.start()
  context.after(() => {
    close()
    return agent.stop()
  })
  const finish = async (job: string, outcome?: { state: string }) => {
    const { running } = agent
    endings.get(job)?.(outcome)
    while (agent.running === running) await new Promise(setImmediate)
  }
  return { request, started, finish }
}

test('a request for a job names the jobs that the agent works on, and repeats it without them if the platform refuses them', async (context) => {
  const { request, started } = startAgent(context)
  const first = await request(0)
  assert.deepEqual(first.data, { workflows: ['discovery'] })
  first.answer('one')
  const second = await request(1)
  assert.deepEqual(second.data, { workflows: ['discovery'], activeJobs: ['one'] })
  second.refuse(new Problem('invalid_body', '/data must not have the property activeJobs'))
  const third = await request(2)
  assert.deepEqual(third.data, { workflows: ['discovery'] })
  third.answer('two')
  assert.deepEqual((await request(3)).data.activeJobs, ['one', 'two'])
  assert.deepEqual(started, ['one', 'two'])
})

test('a job that was released after the request named it starts only when it is offered to a later request', async (context) => {
  const { request, started, finish } = startAgent(context)
  ;(await request(0)).answer('one')
  const second = await request(1)
  await finish('one')
  second.answer('one')
  const third = await request(2)
  assert.deepEqual([started, third.data.activeJobs], [['one'], undefined])
  third.answer('one')
  await request(3)
  assert.deepEqual(started, ['one', 'one'])
})

test('a job whose end was reported after the request named it starts at once when it is offered with its next part', async (context) => {
  const { request, started, finish } = startAgent(context)
  ;(await request(0)).answer('one')
  const second = await request(1)
  await finish('one', { state: 'PREPARED' })
  second.answer('one')
  assert.deepEqual((await request(2)).data.activeJobs, ['one'])
  assert.deepEqual(started, ['one', 'one'])
})
