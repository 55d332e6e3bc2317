import type { Discovery } from '@millwright/api/discovery.ts'
import type { DeviceError } from '@millwright/api/gatekeeper.ts'
import { useQuery } from '@tanstack/react-query'
import { Link, useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import type { Output } from '../../app/api.ts'
import { useFormats, useText } from '../../app/language-context.tsx'
import { useOperationQuery } from '../../app/queries.ts'
import { type Column, DataTable } from '../../components/data-table.tsx'
import { SelectField } from '../../components/fields.tsx'
import { QueryState } from '../../components/query-state.tsx'
import { type Tab, Tabs } from '../../components/tabs.tsx'
import { discoveryMessages } from './messages.ts'

type Finding = Output<'discovery', 'getReport'>['data']['findings'][number]
type View = Finding['outcome'] | 'errors'

const live = ['discovery', 'workflows.job']
const mostShown = 100

/** What a run found: new, changed, unchanged and gone assets, and errors per device. */
export function Report({ scan }: { scan: Discovery }) {
  const text = useText(discoveryMessages)
  const formats = useFormats()
  const [run, setRun] = useState<string>()
  const [view, setView] = useState<View>('new')
  const query = useOperationQuery()
  const params = { jobId: scan.jobId }
  const runs = useQuery(query(['discovery', 'listRuns'], { params, query: { limit: 50 } }, { live }))
  const asked = { limit: mostShown, ...(run !== undefined && { run }), ...(view !== 'errors' && { outcome: view }) }
  const report = useQuery({
    ...query(['discovery', 'getReport'], { params, query: asked }, { live }),
    enabled: scan.runId !== undefined,
    placeholderData: (before) => before,
  })
  if (scan.runId === undefined) return <p className="quiet">{text.noScan}</p>
  return (
    <QueryState query={report}>
      {({ data }) => {
        const count = (name: string, value: number) => `${name} ${formats.number(value)}`
        const tabs: Tab<View>[] = [
          { id: 'new', label: count(text.isNew, data.run.created) },
          { id: 'changed', label: count(text.changed, data.run.updated) },
          { id: 'gone', label: count(text.isGone, data.run.gone) },
          { id: 'unchanged', label: count(text.unchanged, data.run.unchanged) },
          { id: 'errors', label: count(text.errors, data.run.errors) },
        ]
        return (
          <>
            {(runs.data?.data.length ?? 0) > 1 && (
              <SelectField
                label={text.run}
                value={run ?? data.run.id}
                onChange={setRun}
                choices={(runs.data?.data ?? []).map(({ id, number, createdTimestamp, trigger }) => ({
                  value: id,
                  label: `${number}: ${formats.dateTime(createdTimestamp)}, ${trigger === 'person' ? text.byPerson : text.bySchedule}`,
                }))}
              />
            )}
            <Tabs label={text.report} tabs={tabs} chosen={view} onChoose={setView}>
              {view === 'errors' ? <Errors errors={data.errors} /> : <Findings findings={data.findings} />}
            </Tabs>
          </>
        )
      }}
    </QueryState>
  )
}

function Findings({ findings }: { findings: readonly Finding[] }) {
  const text = useText(discoveryMessages)
  const navigate = useNavigate()
  const columns: Column<Finding>[] = [
    {
      id: 'name',
      header: text.device,
      width: 400,
      cell: ({ assetId, name }) => <Link to={`/assets/${assetId}`}>{name ?? text.unnamed}</Link>,
    },
  ]
  return (
    <DataTable
      label={text.report}
      columns={columns}
      rows={findings}
      idOf={({ assetId }) => assetId}
      onOpen={({ assetId }) => navigate({ to: `/assets/${assetId}` })}
      empty={<p className="quiet">{text.nothingOf}</p>}
    />
  )
}

function Errors({ errors }: { errors: readonly DeviceError[] }) {
  const text = useText(discoveryMessages)
  if (errors.length === 0) return <p className="quiet">{text.nothingOf}</p>
  return (
    <table className="plain-table">
      <thead>
        <tr>
          <th scope="col">{text.device}</th>
          <th scope="col">{text.problem}</th>
          <th scope="col">{text.code}</th>
        </tr>
      </thead>
      <tbody>
        {errors.map(({ code, description, device, fields }, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: errors have no name of their own and never change places
          <tr key={index}>
            <td>{deviceIn(device)}</td>
            <td>
              {description}
              {fields?.map(({ pointer, detail }) => (
                <div key={pointer} className="quiet">
                  <code>{pointer}</code> {detail}
                </div>
              ))}
            </td>
            <td>{code}</td>
          </tr>
        ))}
      </tbody>
    </table>
  )
}

/** The values of an address in a line: links have shapes of their own for it. */
function deviceIn(device: DeviceError['device']): string {
  return Object.values(device ?? {})
    .filter((value) => typeof value === 'string' || typeof value === 'number')
    .join(', ')
}
