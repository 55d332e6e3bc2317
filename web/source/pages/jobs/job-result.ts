import { isBuiltInWorkflow, platformClient } from '@millwright/api/built-in-workflows.ts'
import { type AnyJob, type JobCounts, jobPhases, type ScanJobResult } from '@millwright/api/jobs.ts'
import { isInvalidSettings, reasonOf } from '../../app/language/link-message.ts'
import { withLinkTitles } from '../discovery/built-in-links.ts'
import { editSettings } from '../discovery/scans/edit-settings.ts'
import { checkCountsOf } from './check-counts.ts'
import type { jobMessages } from './messages.ts'
import type { jobAdvices, jobErrorAdvices, jobResults } from './outcome-messages.ts'

type Text = (typeof jobMessages)['en']

/** The texts with which the outcome of a job is described. */
export type OutcomeText = {
  text: Text
  results: (typeof jobResults)['en']
  advices: (typeof jobAdvices)['en']
  errorAdvices: (typeof jobErrorAdvices)['en']
}

type ReportedJob = Pick<AnyJob, 'type' | 'gatewayId' | 'phase' | 'message' | 'subject'>

/** Returns whether the message of a gateway contains no more than the end of the job. */
export function isGeneric(message: string): boolean {
  return /^(scan complete|complete|done|finished|canceled)\.?$/i.test(message)
}

/** Returns the result of a job in words: what it achieved, why it failed, or what it waits for. */
export function resultOf({ type, gatewayId, phase, message }: ReportedJob, { text, results }: OutcomeText): string {
  const reported = message === undefined || isGeneric(message) ? undefined : withLinkTitles(reasonOf(message))
  switch (phase) {
    case 'waiting':
      return reported ?? (gatewayId === platformClient ? text.waitsForPlatform : text.waitsForGateway)
    case 'running':
      return reported ?? text.isRunning
    case 'failed':
      return reported ?? text.noReason
    case 'canceled':
      return reported ?? text.wasCanceled
    case 'finished': {
      if (type === 'monitoring') return checkResult(reported, text) ?? results.monitoring
      const words = isBuiltInWorkflow(type) ? results[type] : text.finished
      return reported === undefined ? words : `${words}: ${reported}`
    }
  }
}

type ScanResultContext = { text: Text; number: (value: number) => string }

/** Returns how many devices the run of a scan found, and how many are missing, if there are any. */
export function scanResultText(
  { found, created, gone = 0 }: ScanJobResult,
  { text, number }: ScanResultContext,
): string {
  const counts = text.scanResult(number(found), number(created))
  return gone === 0 ? counts : `${counts}, ${text.missingDevices(number(gone))}`
}

/** Returns the result of a check in the words of the device states, or the message of an older gateway. */
function checkResult(message: string | undefined, text: Text): string | undefined {
  const counts = checkCountsOf(message)
  if (counts === undefined) return message
  const { reached, failed, unchecked } = counts
  const parts = [
    text.reachable(String(reached)),
    failed > 0 && text.unreachable(String(failed)),
    unchecked > 0 && text.notChecked(String(unchecked)),
  ]
  return parts.filter(Boolean).join(', ')
}

/** What a user can do after a job failed: a sentence, and the page on which to do it. */
export type Advice = { text: string; label: string; to: string; search?: Readonly<Record<string, string>> }

/** The causes that the message of a failed job reveals, the most specific first. */
const causes = [
  [
    'login',
    /credential|password|passphrase|log ?in|authenti|unauthori[sz]ed|access denied|permission denied|forbidden/i,
  ],
  ['gateway', /gateway (is|was|went|did|does)|lease|restarted|no longer reports/i],
  ['unreachable', /time ?out|timed out|unreachable|not reachable|no (answer|response|route)|refused|ECONN|EHOST|ENET/i],
] as const

/** Returns the advice for a job that failed. */
export function adviceOf(
  { type, gatewayId, message = '', subject }: ReportedJob,
  { text, advices }: OutcomeText,
): Advice {
  const [kind = '', id = ''] = subject?.reference.split('/') ?? []
  if (kind === 'discovery' && isInvalidSettings(message))
    return {
      text: text.adviceInvalid,
      label: text.editScan,
      to: `/discovery/scans/${id}`,
      search: { edit: editSettings },
    }
  const cause = causes.find(([, pattern]) => pattern.test(message))?.[0]
  if (cause === 'login')
    return {
      text: text.adviceLogin,
      ...(kind === 'asset'
        ? { label: text.toCredentialsOfAsset, to: `/assets/${id}`, search: { tab: 'credentials' } }
        : { label: text.toCredentials, to: '/credentials' }),
    }
  if (cause === 'gateway' && gatewayId !== platformClient)
    return { text: text.adviceGateway, label: text.toGateway, to: `/discovery/gateways/${gatewayId}` }
  const page = pageOf(kind, id, text)
  if (cause === 'unreachable') return { text: text.adviceUnreachable, ...page }
  return { text: isBuiltInWorkflow(type) ? advices[type] : text.adviceCustom, ...page }
}

function pageOf(kind: string, id: string, text: Text): Omit<Advice, 'text'> {
  switch (kind) {
    case 'asset':
      return { label: text.toAsset, to: `/assets/${id}` }
    case 'discovery':
      return { label: text.toScan, to: `/discovery/scans/${id}` }
    case 'monitoring':
      return { label: text.toMonitoring, to: `/monitoring/${id}` }
    case 'update-campaign':
      return { label: text.toCampaign, to: `/updates/campaigns/${id}` }
    case 'import':
      return { label: text.toImport, to: `/files/imports/${id}` }
    case 'export':
      return { label: text.toExports, to: '/files', search: { view: 'exports' } }
    case 'gateway':
      return { label: text.toGateway, to: `/discovery/gateways/${id}` }
    default:
      return { label: text.toWorkflow, to: '/workflows' }
  }
}

/** Returns the numbers of the jobs of a campaign's devices by state in words. A device that was retried has several jobs. */
export function partsText(parts: JobCounts, text: Text, number: (value: number) => string): string {
  const shown = jobPhases.filter((phase) => parts[phase] > 0)
  const total = shown.reduce((sum, phase) => sum + parts[phase], 0)
  if (total === 0) return text.noParts
  const [only] = shown
  if (shown.length === 1 && only !== undefined && total > 1)
    return text.partsAll(number(total), text[only].toLowerCase())
  const states = shown.map((phase) => `${number(parts[phase])} ${text[phase].toLowerCase()}`)
  return text.parts(total, number(total), states.join(', '))
}
