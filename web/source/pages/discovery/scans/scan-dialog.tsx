import type { AssetLink } from '@millwright/api/discovery.ts'
import { isRequiredParameter } from '@millwright/api/link-parameter.ts'
import { useQueryClient } from '@tanstack/react-query'
import { Link, useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { keyOf } from '../../../app/api/queries.ts'
import { useLanguage, useText } from '../../../app/language/language-context.tsx'
import { useApi, usePermission } from '../../../app/session/app-context.tsx'
import { Dialog } from '../../../components/dialogs/dialog.tsx'
import { Loading } from '../../../components/feedback/loading.tsx'
import { showSuccess } from '../../../components/feedback/toast.ts'
import { SelectField } from '../../../components/forms/fields.tsx'
import { Form } from '../../../components/forms/form.tsx'
import { EmptyState } from '../../../components/page/empty-state.tsx'
import { StatusChip } from '../../../components/values/status-chip.tsx'
import { builtInDescription, builtInName, parameterTexts } from '../built-in-links.ts'
import { type GatewayLink, nameOf, useReadyLinks } from '../gateways/gateway-links.ts'
import { useParameterForm } from './parameter-groups.tsx'
import { scanMessages } from './scan-messages.ts'
import { browserTimeZone, cronOf, runNow, type ScheduleChoice } from './schedule.ts'
import { ScheduleFields } from './schedule-fields.tsx'
import { SentFunctions } from './sent-functions.tsx'

type ScanDialogProps = { onClose: () => unknown; chosen?: string | undefined }

/** `ScanDialog` asks the user for an asset link and its settings, and starts or schedules a scan. */
export function ScanDialog({ onClose, chosen }: ScanDialogProps) {
  const text = useText(scanMessages)
  const { links, isLoading } = useReadyLinks()
  const canManage = usePermission('glb_gateway_manage')
  const [key, setKey] = useState(chosen)
  const link = links.find((each) => keyFor(each) === key) ?? links[0]
  return (
    <Dialog title={text.title} onClose={onClose}>
      {link === undefined ? (
        isLoading ? (
          <Loading />
        ) : (
          <EmptyState title={text.noneReady}>
            {canManage && (
              <Link to="/discovery" search={{ onboard: 'yes' }}>
                {text.addGateway}
              </Link>
            )}
          </EmptyState>
        )
      ) : (
        <>
          <SelectField
            label={text.link}
            hint={text.linkHint}
            value={keyFor(link)}
            onChange={setKey}
            choices={links.map((each) => ({
              value: keyFor(each),
              label: `${nameOf(each.link)} – ${each.gatewayName}`,
            }))}
          />
          <LinkFacts link={link.link} />
          <ScanForm key={keyFor(link)} chosen={link} onClose={onClose} />
        </>
      )}
    </Dialog>
  )
}

export function keyFor({ gatewayId, link }: Pick<GatewayLink, 'gatewayId' | 'link'>): string {
  return `${gatewayId} ${link.assetLinkId}`
}

/** `LinkFacts` shows what the link does, which devices it contacts, and whether the scan budget applies to it. */
function LinkFacts({ link }: { link: AssetLink }) {
  const text = useText(scanMessages)
  const language = useLanguage()
  const description = builtInDescription(builtInName(link.assetLinkId), language) ?? link.product?.description
  const sendsFrames = link.sends?.some(({ transport }) => transport === 'ethernet')
  const toSegments = link.options.find(({ key }) => key === 'multicast' || key === 'broadcast')
  const asksDns = link.options.some(({ key }) => key === 'reverse_dns')
  return (
    <div className="link-facts quiet">
      {description !== undefined && <p>{description}</p>}
      {link.filters.some(isRequiredParameter) && (
        <p>
          {sendsFrames ? text.segmentsOnly : text.rangeOnly}{' '}
          {toSegments && text.toSegments(parameterTexts(link.assetLinkId, toSegments, language).label)}
          {asksDns && text.asksDns}
        </p>
      )}
      {!link.budgeted && (
        <p>
          <StatusChip tone="warning">{text.notBudgeted}</StatusChip> {text.notBudgetedDetail}
        </p>
      )}
    </div>
  )
}

/**
 * `ScanForm` starts a scan. It closes the dialog before it opens the page of the scan, so that the back button does not
 * reopen the dialog.
 */
function ScanForm({ chosen: { gatewayId, link }, onClose }: { chosen: GatewayLink; onClose: () => unknown }) {
  const text = useText(scanMessages)
  const api = useApi()
  const navigate = useNavigate()
  const queryClient = useQueryClient()
  const [schedule, setSchedule] = useState<ScheduleChoice>(runNow)
  const [isSubmitted, setSubmitted] = useState(false)
  const { settings, isWrong, fields } = useParameterForm(link)
  const cron = cronOf(schedule)
  const submit = () => {
    setSubmitted(true)
    return isWrong || (schedule.kind !== 'now' && cron === undefined) ? false : start()
  }
  const start = async () => {
    const schedule = cron !== undefined && { schedule: { cron, timezone: browserTimeZone() } }
    const created = await api.discovery.createDiscovery({
      params: { gatewayId },
      body: { data: { assetLinkId: link.assetLinkId, ...settings, ...schedule } },
    })
    await queryClient.invalidateQueries({ queryKey: keyOf('discovery') })
    showSuccess(cron === undefined ? text.started : text.scheduled)
    await onClose()
    navigate({ to: `/discovery/scans/${created.data.jobId}` })
  }
  return (
    <Form action={schedule.kind === 'now' ? text.start : text.schedule} onSubmit={submit}>
      {fields(isSubmitted)}
      <SentFunctions link={link} options={settings.discoveryOptions} />
      <ScheduleFields schedule={schedule} onChange={setSchedule} zone={browserTimeZone()} isSubmitted={isSubmitted} />
    </Form>
  )
}
