import { setTimeout as delay } from 'node:timers/promises'
import { type Discovery, discovery } from '@millwright/api/discovery.ts'
import { type CloudEvent, events } from '@millwright/api/events.ts'
import type { DeviceError } from '@millwright/api/gatekeeper.ts'
import { messages } from '../events/event-stream.ts'
import { CommandError, exitCodes } from '../output/error-report.ts'
import { counted, plain } from '../output/text.ts'
import type { Session } from '../session/session.ts'

type Following = {
  /** The link that scans. Its assets have the device class as their source, or the id of a link without one. */
  link: { assetLinkId: string; deviceClass?: string | undefined }
  /** Starts what is followed, when everything is ready to see it; answers its id. */
  begin(): Promise<string>
}

const lookMs = 500

/** Shows the devices of a discovery as they come, how far it is, and what it came to. */
export async function follow(session: Session, { link, begin }: Following): Promise<void> {
  const ended = new AbortController()
  const listening = Promise.withResolvers<void>()
  const devices = showDevices(session, { link, signal: ended.signal, onOpen: listening.resolve })
  devices.catch(listening.reject)
  await listening.promise
  const interruption = Promise.withResolvers<'interrupted'>()
  const release = session.terminal.onInterrupt(() => interruption.resolve('interrupted'))
  try {
    const jobId = await begin()
    const looking = untilEnd(session, jobId, ended.signal)
    const end = await Promise.race([looking, interruption.promise])
    looking.catch(() => {})
    if (end === 'interrupted') {
      ended.abort()
      return await stopOrLeave(session, jobId)
    }
    // What was told before the end may still be on its way.
    await delay(lookMs)
    ended.abort()
    await devices
    await conclude(session, end)
  } finally {
    release()
    ended.abort()
    await devices.catch(() => {})
  }
}

type Showing = Pick<Following, 'link'> & { signal: AbortSignal; onOpen: () => void }

/** By the stream of events: nobody has to ask again and again which ones are new. */
async function showDevices(session: Session, { link, signal, onOpen }: Showing): Promise<void> {
  const input = { query: { types: 'inventory.asset.created,inventory.asset.updated' } }
  const wanted = { contract: events, operation: 'streamEvents', input, signal, onOpen }
  for await (const { data } of messages(session, wanted)) {
    const event: CloudEvent = JSON.parse(data)
    const { id, name, type, source } = event.data as Record<string, unknown>
    if ((source as { value?: string } | undefined)?.value !== (link.deviceClass ?? link.assetLinkId)) continue
    const isNew = event.type.endsWith('.created')
    if (session.output.format === 'ndjson') {
      await session.terminal.print(JSON.stringify({ outcome: isNew ? 'new' : 'changed', assetId: id, name, type }))
    } else if (session.output.isText) {
      await session.terminal.print(`${isNew ? '+' : '~'} ${id}  ${plain(String(name ?? ''))}`)
    }
  }
}

async function untilEnd(session: Session, jobId: string, signal: AbortSignal): Promise<Discovery> {
  for (;;) {
    const { data } = await session.api(discovery).getDiscovery({ params: { jobId } })
    if (['finished', 'failed', 'canceled'].includes(data.state)) return data
    if (!signal.aborted) session.terminal.progress(progressLine(data))
    await delay(lookMs, undefined, { signal })
  }
}

const barWidth = 24

/** Most links do not know how many devices there are before they have found them: then there is no bar to draw. */
export function progressLine({ state, progress, found, created, errors, message }: Discovery): string {
  if (state === 'created') return 'Waiting for the gateway'
  const full = Math.round((progress / 100) * barWidth)
  const bar = `${'█'.repeat(full)}${'░'.repeat(barWidth - full)} ${String(progress).padStart(3)} %  `
  const counts = [`${found} found`, `${created} new`, ...(errors > 0 ? [counted(errors, 'error')] : [])].join(', ')
  return `${progress === 0 ? '' : bar}${counts}${message === undefined ? '' : `  ${plain(message)}`}`
}

async function stopOrLeave(session: Session, jobId: string): Promise<never> {
  const { terminal } = session
  const answer = terminal.canAsk ? await terminal.ask('\nStop the discovery on the gateway too? [y/N] ') : 'y'
  if (!/^y(es)?$/i.test(answer.trim())) {
    throw new CommandError('It goes on.', {
      exitCode: exitCodes.interrupted,
      next: `millwright discoveries show ${jobId} --follow`,
    })
  }
  await session.api(discovery).cancelDiscovery({ params: { jobId } })
  throw new CommandError(`Discovery ${jobId} is canceled; what was found stays.`, { exitCode: exitCodes.interrupted })
}

/** The report, and an exit code that says whether it came to its end. */
async function conclude(session: Session, end: Discovery): Promise<void> {
  const { output, terminal } = session
  const { data: report } = await session
    .api(discovery)
    .getReport({ params: { jobId: end.jobId }, query: { limit: 100 } })
  if (output.format === 'json') await output.show({ data: { ...end, deviceErrors: report.errors } })
  if (output.format === 'ndjson') await terminal.print(JSON.stringify({ ...end, deviceErrors: report.errors }))
  await output.say(reportLine(end))
  if (output.isText) {
    for (const error of report.errors) for (const line of errorLines(error)) terminal.tell(`  ${line}`)
    if (report.totalErrors > report.errors.length)
      terminal.tell(`  … and ${report.totalErrors - report.errors.length} more`)
  }
  if (end.state !== 'finished')
    throw new CommandError(`The discovery ${end.state}${end.message ? `: ${end.message}` : ''}.`)
}

/** An error of one device with its problem code or status code, and below it each refused field with the reason. */
export function errorLines({ code, description, reason, device, fields = [] }: DeviceError): string[] {
  const subject = device === undefined ? '' : `${plain(nameOf(device))}: `
  return [
    `${subject}${plain(description)} (${plain(reason ?? String(code))})`,
    ...fields.map(({ pointer, detail }) => `  ${plain(pointer)}: ${plain(detail)}`),
  ]
}

function nameOf(device: Record<string, unknown>): string {
  return typeof device.name === 'string' && device.name !== '' ? device.name : JSON.stringify(device)
}

export function reportLine(end: Discovery): string {
  const { found, created, updated, unchanged, gone, errors, jobId } = end
  const parts = [
    `${created} new`,
    `${updated} changed`,
    `${unchanged} unchanged`,
    `${gone} gone`,
    counted(errors, 'error'),
  ]
  return `${counted(found, 'device')}: ${parts.join(', ')}. Report: millwright discoveries report ${jobId}`
}
