import { useQueryClient } from '@tanstack/react-query'
import { Link, useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { keyOf } from '../../../app/api/queries.ts'
import { useText } from '../../../app/language/language-context.tsx'
import { useApi, useMay } from '../../../app/session/user-context.tsx'
import { Dialog } from '../../../components/dialogs/dialog.tsx'
import { Waiting } from '../../../components/feedback/loading.tsx'
import { toldDone } from '../../../components/feedback/toast.ts'
import { SelectField } from '../../../components/forms/fields.tsx'
import { Form } from '../../../components/forms/form.tsx'
import { EmptyState } from '../../../components/page/empty-state.tsx'
import { type GatewayLink, nameOf, useReadyLinks } from '../gateways/gateway-links.ts'
import { useParameterForm } from './parameter-groups.tsx'
import { scanMessages } from './scan-messages.ts'
import { atOnce, cronOf, ownZone, type Timing } from './schedule.ts'
import { TimingFields } from './schedule-fields.tsx'

type Given = { onClose: () => unknown; chosen?: string | undefined }

/** Asks what a link wants to know, in the link's own words, and lets it look. */
export function ScanDialog({ onClose, chosen }: Given) {
  const text = useText(scanMessages)
  const { links, isWaiting } = useReadyLinks()
  const mayManage = useMay('glb_gateway_manage')
  const [key, setKey] = useState(chosen)
  const link = links.find((each) => keyFor(each) === key) ?? links[0]
  return (
    <Dialog title={text.title} onClose={onClose}>
      {link === undefined ? (
        isWaiting ? (
          <Waiting />
        ) : (
          <EmptyState title={text.noneReady}>
            {mayManage && (
              <Link to="/discovery" search={{ onboard: 'yes' }}>
                {text.onboard}
              </Link>
            )}
          </EmptyState>
        )
      ) : (
        <>
          <SelectField
            label={text.where}
            hint={text.whereHint}
            value={keyFor(link)}
            onChange={setKey}
            choices={links.map((each) => ({
              value: keyFor(each),
              label: `${nameOf(each.link)} – ${each.gatewayName}`,
            }))}
          />
          <ScanForm key={keyFor(link)} chosen={link} onClose={onClose} />
        </>
      )}
    </Dialog>
  )
}

export function keyFor({ gatewayId, link }: Pick<GatewayLink, 'gatewayId' | 'link'>): string {
  return `${gatewayId} ${link.assetLinkId}`
}

/** Leads to the page of the scan; the way back does not lead to the dialog. */
function ScanForm({ chosen: { gatewayId, link }, onClose }: { chosen: GatewayLink; onClose: () => unknown }) {
  const text = useText(scanMessages)
  const api = useApi()
  const navigate = useNavigate()
  const queryClient = useQueryClient()
  const [timing, setTiming] = useState<Timing>(atOnce)
  const [isTold, setTold] = useState(false)
  const { asked, isWrong, fields } = useParameterForm(link)
  const cron = cronOf(timing)
  const submit = () => {
    setTold(true)
    return isWrong || (timing.kind !== 'now' && cron === undefined) ? false : start()
  }
  const start = async () => {
    const schedule = cron !== undefined && { schedule: { cron, timezone: ownZone() } }
    const made = await api.discovery.createDiscovery({
      params: { gatewayId },
      body: { data: { assetLinkId: link.assetLinkId, ...asked, ...schedule } },
    })
    await queryClient.invalidateQueries({ queryKey: keyOf('discovery') })
    toldDone(cron === undefined ? text.started : text.planned)
    await onClose()
    navigate({ to: `/discovery/scans/${made.data.jobId}` })
  }
  return (
    <Form action={timing.kind === 'now' ? text.start : text.plan} onSubmit={submit}>
      {fields(isTold)}
      <TimingFields timing={timing} onChange={setTiming} zone={ownZone()} isTold={isTold} />
    </Form>
  )
}
