import type { Discovery } from '@millwright/api/discovery.ts'
import type { TrafficLimits } from '@millwright/api/scan-budget.ts'
import { IxButton } from '@siemens/ix-react'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import type { Output } from '../../../app/api/client.ts'
import { useOperationQuery } from '../../../app/api/queries.ts'
import { useFormats, useText } from '../../../app/language/language-context.tsx'
import { download } from '../../../components/actions/download.ts'
import { QueryState } from '../../../components/feedback/query-state.tsx'
import { SelectField, TextField } from '../../../components/forms/fields.tsx'
import { type Column, DataTable } from '../../../components/tables/data-table.tsx'
import { Toolbar } from '../../../components/tables/toolbar.tsx'
import { BarChart } from '../../../components/values/bar-chart.tsx'
import { KeyValueList } from '../../../components/values/key-value-list.tsx'
import { StatusChip, type Tone } from '../../../components/values/status-chip.tsx'
import { Time } from '../../../components/values/time.tsx'
import {
  addressCount,
  addressOf,
  largestFirst,
  matchingEntries,
  type ReceiptEntry,
  totalOf,
} from './receipt-entries.ts'
import { receiptMessages } from './receipt-messages.ts'

type ReceiptAnswer = Output<'discovery', 'getReceipt'>
type Receipt = ReceiptAnswer['data']

type ScanReceiptProps = {
  scan: Discovery
  /** The run. Without it, the latest run is shown. */
  run: string | undefined
}

/** `ScanReceipt` shows what a run sent to each device, and whether the signature of the gateway is valid. */
export function ScanReceipt({ scan, run = scan.runId }: ScanReceiptProps) {
  const text = useText(receiptMessages)
  const query = useOperationQuery()
  const [lease, setLease] = useState<string>()
  const hasEnded = run !== scan.runId || (scan.state !== 'created' && scan.state !== 'running')
  const receipt = useQuery({
    ...query(['discovery', 'getReceipt'], {
      params: { jobId: scan.jobId },
      query: { ...(run !== undefined && { run }), ...(lease !== undefined && { lease }) },
    }),
    enabled: run !== undefined && hasEnded,
    // A stored receipt does not change and can be large. A further receipt of the run can arrive later.
    staleTime: 60_000,
  })
  if (run === undefined) return null
  const reasons: Readonly<Record<string, string>> = {
    run_not_finished: text.notFinished,
    link_not_budgeted: text.notBudgeted,
    receipt_not_sent: text.notSent,
  }
  const reason = hasEnded ? reasons[receipt.error?.code ?? ''] : text.notFinished
  return (
    <section className="card" data-size="wide" aria-label={text.title}>
      <details className="scan-receipt">
        <summary>
          <h2>{text.title}</h2> <span className="quiet">{text.lead}</span>
        </summary>
        {receipt.data !== undefined && <DownloadButton receipt={receipt.data.data} />}
        {reason === undefined ? (
          <QueryState query={receipt}>{(answer) => <ReceiptDetails answer={answer} onSelect={setLease} />}</QueryState>
        ) : (
          <p className="quiet">{reason}</p>
        )}
      </details>
    </section>
  )
}

function DownloadButton({ receipt }: { receipt: Receipt }) {
  const text = useText(receiptMessages)
  const save = () =>
    download(
      new Blob([JSON.stringify(receipt, null, 2)], { type: 'application/json' }),
      `receipt-${receipt.runId}.json`,
    )
  return (
    <IxButton variant="secondary" onClick={save}>
      {text.download}
    </IxButton>
  )
}

const stateTones: Readonly<Record<Receipt['state'], Tone>> = {
  finished: 'good',
  failed: 'bad',
  canceled: 'neutral',
  interrupted: 'warning',
}

type ReceiptDetailsProps = { answer: ReceiptAnswer; onSelect: (lease: string) => void }

function ReceiptDetails({ answer: { data: receipt, meta }, onSelect }: ReceiptDetailsProps) {
  const text = useText(receiptMessages)
  const formats = useFormats()
  const { from, to, budget, budgets = [], totals, devices, refused } = receipt
  const stateNames: Readonly<Record<Receipt['state'], string>> = {
    finished: text.finished,
    failed: text.failed,
    canceled: text.canceledScan,
    interrupted: text.interrupted,
  }
  const budgetItems = (shown: Receipt['budget']) => [
    { name: text.perDevice, value: limitsOf(shown.perDevice) },
    { name: text.perGateway, value: limitsOf(shown.perGateway) },
    { name: text.protocols, value: shown.protocols?.join(', ') },
    { name: text.hours, value: shown.hours?.map((span) => text.until(span.from, span.to)).join(', ') },
    { name: text.excludedAddresses, value: shown.excludedAddresses.join(', ') },
    {
      name: text.multicast,
      value: shown.multicast === undefined ? undefined : shown.multicast ? text.multicastAllowed : text.multicastDenied,
    },
  ]
  const limitsOf = ({ datagramsPerSecond, connectionsPerSecond, requestsPerSecond, connections }: TrafficLimits) => {
    const [datagrams = '', opened = '', requests = '', open = ''] = [
      datagramsPerSecond,
      connectionsPerSecond,
      requestsPerSecond,
      connections,
    ].map((limit) => formats.number(limit))
    return text.limits(datagrams, opened, requests, open)
  }
  const reasonNames: Readonly<Record<string, string>> = {
    excluded: text.excluded,
    protocol: text.protocol,
    hours: text.hour,
    canceled: text.canceled,
  }
  return (
    <>
      {meta.receipts.length > 1 && (
        <SelectField
          label={text.receipts}
          value={meta.lease}
          onChange={onSelect}
          choices={meta.receipts.map((one) => ({
            value: one.lease,
            label: text.receiptOf(formats.exact(one.from), stateNames[one.state]),
          }))}
        />
      )}
      <KeyValueList
        items={[
          {
            name: text.number,
            value:
              totalOf(totals) === 0
                ? text.nothing
                : text.sentTo(formats.number(totalOf(totals)), formats.number(addressCount(devices))),
          },
          {
            name: text.signature,
            value: meta.verified ? (
              <StatusChip tone="good">{text.valid}</StatusChip>
            ) : (
              <>
                <StatusChip tone="bad">{text.invalid}</StatusChip> {text.invalidDetail}
              </>
            ),
          },
          { name: text.key, value: <code>{meta.keyThumbprint}</code> },
          {
            name: text.state,
            value: (
              <>
                <StatusChip tone={stateTones[receipt.state]}>{stateNames[receipt.state]}</StatusChip>{' '}
                {receipt.state === 'interrupted' && text.interruptedDetail}
              </>
            ),
          },
          { name: text.period, value: text.until(formats.exact(from), formats.exact(to)) },
          ...budgetItems(budget),
          {
            name: text.refused,
            value: largestFirst(refused)
              .map(([reason, number]) => `${formats.number(number)} (${reasonNames[reason] ?? reason})`)
              .join(', '),
          },
        ]}
      />
      {budgets.slice(1).map((period) => (
        <div key={period.from}>
          <h3 className="part-title">{text.budgetFrom(formats.exact(period.from))}</h3>
          <KeyValueList items={budgetItems(period.budget)} />
        </div>
      ))}
      <h3 className="part-title">{text.totals}</h3>
      {totalOf(totals) === 0 ? (
        <p className="quiet">{text.nothing}</p>
      ) : (
        <>
          <BarChart
            label={text.totals}
            bars={largestFirst(totals).map(([name, count]) => ({ key: name, label: name, count }))}
          />
          <h3 className="part-title">{text.devices}</h3>
          <ReceiptEntries entries={devices} />
        </>
      )}
    </>
  )
}

function ReceiptEntries({ entries }: { entries: readonly ReceiptEntry[] }) {
  const text = useText(receiptMessages)
  const formats = useFormats()
  const [search, setSearch] = useState('')
  const rows = matchingEntries(entries, search)
  const columns: Column<ReceiptEntry>[] = [
    {
      id: 'address',
      header: text.address,
      width: 220,
      cell: (entry) =>
        'network' in entry ? `${entry.network} (${text.addresses(formats.number(entry.addresses))})` : entry.address,
    },
    {
      id: 'number',
      header: text.number,
      width: 90,
      isNumber: true,
      cell: ({ packets }) => formats.number(totalOf(packets)),
    },
    {
      id: 'classes',
      header: text.classes,
      width: 480,
      cell: ({ packets }) => {
        const shown = largestFirst(packets)
          .map(([name, number]) => `${name} ${formats.number(number)}`)
          .join(', ')
        return <span title={shown}>{shown}</span>
      },
    },
    { id: 'first', header: text.first, width: 110, cell: ({ first }) => <Time at={first} isTimeOfDay /> },
    { id: 'last', header: text.last, width: 110, cell: ({ last }) => <Time at={last} isTimeOfDay /> },
  ]
  return (
    <>
      <Toolbar count={text.count(formats.number(rows.length), formats.number(entries.length))}>
        <TextField
          label={text.search}
          isLabelUnseen
          type="search"
          placeholder={text.search}
          value={search}
          onChange={setSearch}
        />
      </Toolbar>
      <DataTable
        label={text.devices}
        columns={columns}
        rows={rows}
        idOf={addressOf}
        empty={<p className="quiet">{text.noMatch}</p>}
      />
    </>
  )
}
