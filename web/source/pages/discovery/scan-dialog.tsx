import { useQueryClient } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { useText } from '../../app/language-context.tsx'
import { keyOf } from '../../app/queries.ts'
import { useApi } from '../../app/visit.tsx'
import { Dialog } from '../../components/dialog.tsx'
import { EmptyState } from '../../components/empty-state.tsx'
import { SelectField } from '../../components/fields.tsx'
import { Form } from '../../components/form.tsx'
import { toldDone } from '../../components/toast.ts'
import { Waiting } from '../../components/waiting.tsx'
import { type GatewayLink, nameOf, useReadyLinks } from './links.ts'
import { ParameterFields } from './parameter-fields.tsx'
import { errorsOf, parametersOf, type Typed } from './parameter-form.ts'
import { scanMessages } from './scan-messages.ts'
import { atOnce, cronOf, ownZone, type Timing } from './timing.ts'
import { TimingFields } from './timing-fields.tsx'

type Given = { onClose: () => void; chosen?: string | undefined }

/** Asks what a link wants to know, in the link's own words, and lets it look. */
export function ScanDialog({ onClose, chosen }: Given) {
  const text = useText(scanMessages)
  const { links, isWaiting } = useReadyLinks()
  const [key, setKey] = useState(chosen)
  const link = links.find((each) => keyFor(each) === key) ?? links[0]
  return (
    <Dialog title={text.title} onClose={onClose}>
      {link === undefined ? (
        isWaiting ? (
          <Waiting />
        ) : (
          <EmptyState title={text.noneReady} />
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
          <ScanForm key={keyFor(link)} chosen={link} />
        </>
      )}
    </Dialog>
  )
}

export function keyFor({ gatewayId, link }: Pick<GatewayLink, 'gatewayId' | 'link'>): string {
  return `${gatewayId} ${link.assetLinkId}`
}

/** Leads to the page of the scan, which leaves the dialog behind. */
function ScanForm({ chosen: { gatewayId, link } }: { chosen: GatewayLink }) {
  const text = useText(scanMessages)
  const api = useApi()
  const navigate = useNavigate()
  const queryClient = useQueryClient()
  const [filters, setFilters] = useState<Typed>({})
  const [options, setOptions] = useState<Typed>({})
  const [timing, setTiming] = useState<Timing>(atOnce)
  const [isTold, setTold] = useState(false)
  const errors = { filters: errorsOf(link.filters, filters), options: errorsOf(link.options, options) }
  const cron = cronOf(timing)
  const submit = () => {
    setTold(true)
    const isWrong = [errors.filters, errors.options].some((each) => Object.keys(each).length > 0)
    return isWrong || (timing.kind !== 'now' && cron === undefined) ? false : start()
  }
  const start = async () => {
    const made = await api.discovery.createDiscovery({
      params: { gatewayId },
      body: {
        data: {
          assetLinkId: link.assetLinkId,
          discoveryFilters: parametersOf(link.filters, filters),
          discoveryOptions: parametersOf(link.options, options),
          ...(cron !== undefined && { schedule: { cron, timezone: ownZone() } }),
        },
      },
    })
    await queryClient.invalidateQueries({ queryKey: keyOf('discovery') })
    toldDone(cron === undefined ? text.started : text.planned)
    navigate({ to: `/discovery/scans/${made.data.jobId}` })
  }
  const told = (each: typeof errors.filters) => (isTold ? each : {})
  return (
    <Form action={timing.kind === 'now' ? text.start : text.plan} onSubmit={submit}>
      {link.filters.length + link.options.length === 0 && <p className="quiet">{text.noParameters}</p>}
      {link.filters.length > 0 && (
        <fieldset className="group">
          <legend>{text.filters}</legend>
          <ParameterFields
            parameters={link.filters}
            typed={filters}
            errors={told(errors.filters)}
            onChange={setFilters}
          />
        </fieldset>
      )}
      {link.options.length > 0 && (
        <details className="group" open={isTold && Object.keys(errors.options).length > 0}>
          <summary>{text.options}</summary>
          <ParameterFields
            parameters={link.options}
            typed={options}
            errors={told(errors.options)}
            onChange={setOptions}
          />
        </details>
      )}
      <TimingFields timing={timing} onChange={setTiming} zone={ownZone()} isTold={isTold} />
    </Form>
  )
}
