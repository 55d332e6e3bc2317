import { pino } from 'pino'
import { SharedCounts } from '../shared-counts.ts'

const log = pino({ level: 'silent' })

/** Creates processes that send each other counts. `sent` contains all notifications. `deliver` sends the waiting counts. */
export function processes(count = 2) {
  const sent: string[] = []
  const all: SharedCounts[] = []
  const send = async (text: string) => {
    sent.push(text)
    for (const one of all) one.receive(text)
  }
  for (let index = 0; index < count; index++) all.push(new SharedCounts({ send, log }))
  const deliver = async () => {
    for (const one of all) await one.flush()
  }
  return { all, sent, deliver }
}
