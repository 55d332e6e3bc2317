import { setTimeout as delay } from 'node:timers/promises'
import { type Discovery, discovery } from '@millwright/api/discovery.ts'
import { type CloudEvent, events } from '@millwright/api/events.ts'
import type { DeviceError } from '@millwright/api/gatekeeper.ts'
import { messages } from '../events/event-stream.ts'
import { CommandError, exitCodes } from '../output/error-report.ts'
import { formatCount, sanitize } from '../output/text.ts'
import type { Session } from '../session/session.ts'

type FollowOptions = {
  /**
   * The link of the scan. The source of the found assets is the link's device class, or the link's id if it has no
   * device class.
   */
  link: { assetLinkId: string; deviceClass?: string | undefined }
  /**
   * Starts the scan and returns its id. `follow` calls this function after the event stream is open, so that no device
   * is missed.
   */
  start(): Promise<string>
}

const pollMs = 500

/** Prints the devices of a scan as they are found, its progress, and its report at the end. */
export async function follow(session: Session, { link, start }: FollowOptions): Promise<void> {
  const ended = new AbortController()
  const listening = Promise.withResolvers<void>()
  const devices = showDevices(session, { link, signal: ended.signal, onOpen: listening.resolve })
  devices.catch(listening.reject)
  await listening.promise
  const interruption = Promise.withResolvers<'interrupted'>()
  const release = session.terminal.onInterrupt(() => interruption.resolve('interrupted'))
  try {
    const jobId = await start()
    const polling = untilEnd(session, jobId, ended.signal)
    const outcome = await Promise.race([polling, interruption.promise])
    polling.catch(() => {})
    if (outcome === 'interrupted') {
      ended.abort()
      return await cancelOrLeave(session, jobId)
    }
    // Waits, so that events that were created before the end of the scan can still arrive.
    await delay(pollMs)
    ended.abort()
    await devices
    await printReport(session, outcome)
  } finally {
    release()
    ended.abort()
    await devices.catch(() => {})
  }
}

type DeviceStreamOptions = Pick<FollowOptions, 'link'> & { signal: AbortSignal; onOpen: () => void }

/** Prints the devices that the scan creates or updates, as the event stream reports them. */
async function showDevices(session: Session, { link, signal, onOpen }: DeviceStreamOptions): Promise<void> {
  const input = { query: { types: 'inventory.asset.created,inventory.asset.updated' } }
  const request = { contract: events, operation: 'streamEvents', input, signal, onOpen }
  for await (const { data } of messages(session, request)) {
    const event: CloudEvent = JSON.parse(data)
    const { id, name, type, source } = event.data as Record<string, unknown>
    if ((source as { value?: string } | undefined)?.value !== (link.deviceClass ?? link.assetLinkId)) continue
    const isNew = event.type.endsWith('.created')
    if (session.output.format === 'ndjson') {
      await session.terminal.print(JSON.stringify({ outcome: isNew ? 'new' : 'changed', assetId: id, name, type }))
    } else if (session.output.isText) {
      await session.terminal.print(`${isNew ? '+' : '~'} ${id}  ${sanitize(String(name ?? ''))}`)
    }
  }
}

async function untilEnd(session: Session, jobId: string, signal: AbortSignal): Promise<Discovery> {
  for (;;) {
    const { data } = await session.api(discovery).getDiscovery({ params: { jobId } })
    if (['finished', 'failed', 'canceled'].includes(data.state)) return data
    if (!signal.aborted) session.terminal.progress(progressLine(data))
    await delay(pollMs, undefined, { signal })
  }
}

const barWidth = 24

/**
 * Returns the progress line. The line has no bar until the link reports a percentage, and most links never report one.
 */
export function progressLine({ state, progress, found, created, errors, message }: Discovery): string {
  if (state === 'created') return 'Waiting for the gateway'
  const full = Math.round((progress / 100) * barWidth)
  const bar = `${'█'.repeat(full)}${'░'.repeat(barWidth - full)} ${String(progress).padStart(3)} %  `
  const counts = [`${found} found`, `${created} new`, ...(errors > 0 ? [formatCount(errors, 'error')] : [])].join(', ')
  return `${progress === 0 ? '' : bar}${counts}${message === undefined ? '' : `  ${sanitize(message)}`}`
}

async function cancelOrLeave(session: Session, jobId: string): Promise<never> {
  const { terminal } = session
  const answer = terminal.isInteractive ? await terminal.prompt('\nCancel the scan on the gateway too? [y/N] ') : 'y'
  if (!/^y(es)?$/i.test(answer.trim())) {
    throw new CommandError('The scan continues.', {
      exitCode: exitCodes.interrupted,
      next: `millwright discoveries show ${jobId} --follow`,
    })
  }
  await session.api(discovery).cancelDiscovery({ params: { jobId } })
  throw new CommandError(`Scan ${jobId} is canceled; assets that were found stay.`, { exitCode: exitCodes.interrupted })
}

/** Prints the report. Throws unless the scan finished, so that the exit code shows the failure. */
async function printReport(session: Session, end: Discovery): Promise<void> {
  const { output, terminal } = session
  const { data: report } = await session
    .api(discovery)
    .getReport({ params: { jobId: end.jobId }, query: { limit: 100 } })
  if (output.format === 'json') await output.show({ data: { ...end, deviceErrors: report.errors } })
  if (output.format === 'ndjson') await terminal.print(JSON.stringify({ ...end, deviceErrors: report.errors }))
  await output.printText(reportLine(end))
  if (output.isText) {
    for (const error of report.errors) for (const line of errorLines(error)) terminal.note(`  ${line}`)
    if (report.totalErrors > report.errors.length)
      terminal.note(`  … and ${report.totalErrors - report.errors.length} more`)
  }
  if (end.state !== 'finished') throw new CommandError(endSentence(end))
}

/** Returns the sentence for a scan that failed or was canceled. The message of a link can end with a full stop. */
export function endSentence({ state, message }: { state: string; message?: string | undefined }): string {
  const reason = message ? `: ${message.replace(/\.$/, '')}` : ''
  return `The scan ${state === 'canceled' ? 'was canceled' : state}${reason}.`
}

/**
 * Returns the lines for an error of one device: the device unless the description names it, the problem code if the
 * inventory rejected the device, then each rejected field with the reason.
 */
export function errorLines({ description, reason, device, fields = [] }: DeviceError): string[] {
  const name = device === undefined ? '' : nameOf(device)
  const subject = description.includes(name) ? '' : `${sanitize(name)}: `
  return [
    `${subject}${sanitize(description)}${reason === undefined ? '' : ` (${sanitize(reason)})`}`,
    ...fields.map(({ pointer, detail }) => `  ${sanitize(pointer)}: ${sanitize(detail)}`),
  ]
}

/** Returns the name of a device, or its address without numbers such as ports. The form of an address depends on the link. */
function nameOf(device: Record<string, unknown>): string {
  if (typeof device.name === 'string' && device.name !== '') return device.name
  const texts = Object.values(device).filter((value) => typeof value === 'string' && value !== '')
  return texts.length > 0 ? texts.join(', ') : JSON.stringify(device)
}

export function reportLine(end: Discovery): string {
  const { found, created, updated, unchanged, gone, comparedRun, errors, jobId } = end
  const parts = [
    `${created} new`,
    `${updated} changed`,
    `${unchanged} unchanged`,
    comparedRun === undefined && gone === 0 ? 'gone: not checked' : `${gone} gone`,
    formatCount(errors, 'error'),
  ]
  return `${formatCount(found, 'device')}: ${parts.join(', ')}. Report: millwright discoveries report ${jobId}`
}
