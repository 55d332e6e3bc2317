import type { Availability } from '@millwright/api/monitoring.ts'
import { Link } from '@tanstack/react-router'
import { useFormats, useText } from '../../../app/language/language-context.tsx'
import { usePermission } from '../../../app/session/app-context.tsx'
import { QueryState } from '../../../components/feedback/query-state.tsx'
import { Card } from '../../../components/page/card.tsx'
import { KeyValueList } from '../../../components/values/key-value-list.tsx'
import { Time } from '../../../components/values/time.tsx'
import { ResultState } from '../../monitoring/monitoring-state.tsx'
import { availabilityDays as days, useAvailability } from './availability-data.ts'
import { outagesSince, type StatePeriod } from './availability-days.ts'
import { AvailabilitySparkline } from './availability-sparkline.tsx'
import { availabilityMessages } from './messages.ts'

/** `AvailabilityCard` shows whether monitoring reaches an asset, and its availability in the last 30 days. */
export function AvailabilityCard({ assetId }: { assetId: string }) {
  const text = useText(availabilityMessages)
  const availability = useAvailability(assetId)
  return (
    <Card title={text.title}>
      <QueryState query={availability}>
        {({ data }) =>
          data.changes.length === 0 && data.results.length === 0 ? (
            <NotMonitored />
          ) : (
            <AvailabilityDetails availability={data} />
          )
        }
      </QueryState>
    </Card>
  )
}

function NotMonitored() {
  const text = useText(availabilityMessages)
  const canOpen = usePermission('glb_jobs_read')
  return (
    <>
      <p>{text.notMonitored}</p>
      <p className="quiet">
        {text.notMonitoredHint} {canOpen && <Link to="/monitoring">{text.toMonitoring}</Link>}
      </p>
    </>
  )
}

function AvailabilityDetails({ availability }: { availability: Availability }) {
  const text = useText(availabilityMessages)
  const formats = useFormats()
  const { state, sinceTimestamp, availablePercent, changes, results, to } = availability
  const outages = outagesSince(changes, Date.parse(availability.from))
  const share = availablePercent === undefined ? text.noData : formats.preciseShare(availablePercent / 100)
  return (
    <>
      <AvailabilitySparkline
        changes={changes}
        days={days}
        now={Date.parse(to)}
        share={share}
        outages={outages.length}
      />
      <KeyValueList
        items={[
          {
            name: text.lastDays(formats.number(days)),
            value: availablePercent === undefined ? share : text.percent(share),
          },
          {
            name: text.current,
            value: (
              <span className="state-line">
                <ResultState state={state} />
                {sinceTimestamp !== undefined && (
                  <span className="quiet">
                    <Time at={sinceTimestamp} isRelative />
                  </span>
                )}
              </span>
            ),
          },
          outages.length > 0 && { name: text.outages, value: <Outages outages={outages} now={to} /> },
          results.length > 0 && { name: text.results, value: <Results results={results} /> },
        ]}
      />
    </>
  )
}

const shownOutages = 5

function Outages({ outages, now }: { outages: readonly StatePeriod[]; now: string }) {
  const text = useText(availabilityMessages)
  const formats = useFormats()
  const line = ({ from, to }: StatePeriod) =>
    to == null || to === now
      ? text.ongoing(formats.dateTime(from))
      : text.outageLine(formats.dateTime(from), unbroken(formats.duration(Date.parse(to) - Date.parse(from))))
  return (
    <ul className="plain-list">
      {outages.slice(0, shownOutages).map((outage) => (
        <li key={outage.from}>{line(outage)}</li>
      ))}
      {outages.length > shownOutages && (
        <li className="quiet">{text.moreOutages(formats.number(outages.length - shownOutages))}</li>
      )}
    </ul>
  )
}

/** Returns a text that does not wrap between a number and its unit. */
function unbroken(text: string): string {
  return text.replaceAll(' ', '\u00a0')
}

/** `Results` links to the monitorings of the asset, each with the reason if the device was not reached or read. */
function Results({ results }: Pick<Availability, 'results'>) {
  const canOpen = usePermission('glb_jobs_read')
  return (
    <ul className="plain-list availability-results">
      {results.map(({ monitoringId, monitoringName, message, error, checkedTimestamp }) => (
        <li key={monitoringId}>
          {canOpen ? <Link to={`/monitoring/${monitoringId}`}>{monitoringName}</Link> : monitoringName}
          <span className="where">
            <Time at={checkedTimestamp} isRelative />
          </span>
          {(message ?? error) !== undefined && (
            <span className="where" lang="en">
              {message ?? error?.detail}
            </span>
          )}
        </li>
      ))}
    </ul>
  )
}
