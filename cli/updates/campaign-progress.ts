import { setTimeout as delay } from 'node:timers/promises'
import { type Campaign, deviceStates, type Plan, type StateCounts, updates } from '@millwright/api/updates.ts'
import { CommandError, exitCodes } from '../output/error-report.ts'
import { formatCount, sanitize } from '../output/text.ts'
import type { Session } from '../session/session.ts'

/** This file prints plans and follows campaigns. */

const pollMs = 1_000

const ended: readonly Campaign['state'][] = ['finished', 'canceled', 'stopped']

/** Returns the numbers of devices by state, such as `12 succeeded, 1 failed`. */
export function countsText(counts: StateCounts): string {
  const parts = deviceStates.filter((state) => counts[state] > 0).map((state) => `${counts[state]} ${state}`)
  return parts.join(', ') || 'no devices'
}

/** Waits for the end of a campaign and shows its progress. Ctrl-C stops following; the campaign continues. */
export async function followCampaign(session: Session, id: string): Promise<void> {
  const interruption = new AbortController()
  const release = session.terminal.onInterrupt(() => interruption.abort())
  try {
    await printEnd(session, await untilEnd(session, id, interruption.signal))
  } catch (error) {
    if (!interruption.signal.aborted) throw error
    throw new CommandError(`Campaign ${id} continues on the platform.`, {
      exitCode: exitCodes.interrupted,
      next: `follow it again: millwright updates show ${id} --follow; stop it: millwright updates cancel ${id}`,
    })
  } finally {
    release()
  }
}

async function untilEnd(session: Session, id: string, signal: AbortSignal): Promise<Campaign> {
  for (;;) {
    const { data } = await session.api(updates).readCampaign({ params: { id } })
    if (ended.includes(data.state)) return data
    const reason = data.stateReason === undefined ? '' : ` (${sanitize(data.stateReason)})`
    const wave = data.wave === undefined ? '' : `, wave ${data.wave} of ${data.waveCounts.length}`
    session.terminal.progress(`${data.state}${wave}: ${countsText(data.counts)}${reason}`)
    await delay(pollMs, undefined, { signal })
  }
}

/** Prints the end of a campaign. Throws unless all devices succeeded, so that the exit code shows a failure. */
async function printEnd(session: Session, campaign: Campaign): Promise<void> {
  const { id, state, counts, stateReason } = campaign
  await session.output.done(`Campaign ${state}: ${countsText(counts)}`, { data: campaign })
  const problems = counts.failed + counts.unknown
  if (problems > 0 && session.output.isText) {
    const { data } = await session.api(updates).listFailures({ params: { id } })
    for (const group of data)
      session.terminal.note(`  ${formatCount(group.devices, 'device')} ${group.state}: ${sanitize(group.reason)}`)
  }
  if (state === 'stopped')
    throw new CommandError(`The campaign stopped: ${sanitize(stateReason ?? 'too many failures')}.`, {
      next: `see millwright updates devices ${id} --state failed; continue with millwright updates resume ${id}`,
    })
  if (state === 'canceled') throw new CommandError(`Campaign ${id} was canceled.`)
  if (problems > 0)
    throw new CommandError(`${formatCount(problems, 'device')} failed or are in an unknown state.`, {
      next: `see millwright updates devices ${id}; update failed devices again with millwright updates retry ${id}`,
    })
}

/** Prints the numbers of a plan and the reasons for targets that are not updated. */
export async function printPlanSummary({ output }: Session, { summary }: Plan): Promise<void> {
  const { targets, outcomes, waves, reasons } = summary
  await output.printText(
    `${formatCount(targets, 'target')}: ${outcomes.update} to update, ${outcomes.current} up to date, ${targets - outcomes.update - outcomes.current} not possible`,
  )
  if (outcomes.update > 0 && waves.length > 1)
    await output.printText(`Waves: ${waves.map(({ wave, devices }) => `${wave}: ${devices}`).join(', ')}`)
  for (const { outcome, reason, devices } of reasons)
    await output.printText(`  ${formatCount(devices, 'asset')} ${outcome}: ${sanitize(reason)}`)
}
