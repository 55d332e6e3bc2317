import type { TestContext } from 'node:test'
import { pino } from 'pino'
import { SharedCounts } from '../shared-counts.ts'

const log = pino({ level: 'silent' })
export const sendMs = 50

/** Creates processes that send each other counts. `sent` contains all notifications. `deliver` sends the waiting counts. */
export function processes(t: TestContext, count = 2) {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const sent: string[] = []
  const all: SharedCounts[] = []
  const send = async (text: string) => {
    sent.push(text)
    for (const one of all) one.receive(text)
  }
  for (let index = 0; index < count; index++) all.push(new SharedCounts({ send, log, sendMs }))
  const deliver = async () => {
    t.mock.timers.tick(sendMs)
    await new Promise((resolve) => setImmediate(resolve))
  }
  return { all, sent, deliver }
}
