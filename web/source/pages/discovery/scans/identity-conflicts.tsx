import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useOperationQuery } from '../../../app/api/queries.ts'
import { useFormats, useLanguage, useText } from '../../../app/language/language-context.tsx'
import { usePermission } from '../../../app/session/app-context.tsx'
import { Card } from '../../../components/page/card.tsx'
import { PlainTable } from '../../../components/tables/plain-table.tsx'
import { Time } from '../../../components/values/time.tsx'
import { identifierLine } from '../../assets/model/identifier-names.ts'
import { gatewayMessages } from '../gateways/gateway-messages.ts'

/**
 * `IdentityConflicts` lists devices with an identifier that belongs to an asset that the gateway cannot write. Without
 * such conflicts, it renders nothing.
 */
export function IdentityConflicts({ gatewayId }: { gatewayId: string }) {
  const text = useText(gatewayMessages)
  const language = useLanguage()
  const formats = useFormats()
  const query = useOperationQuery()
  const canRead = usePermission('inventory_read_asset_data')
  const conflicts = useQuery({
    ...query(
      ['inventory', 'listIdentityConflicts'],
      { query: { gateway: gatewayId, limit: 100 } },
      { live: ['discovery.run'] },
    ),
    enabled: canRead,
  })
  const rows = conflicts.data?.data ?? []
  const total = conflicts.data?.meta.totalElements ?? rows.length
  if (rows.length === 0) return null
  return (
    <Card title={text.conflicts} size="wide">
      <p className="quiet card-lead">{text.conflictsDetail}</p>
      <PlainTable columns={[text.asset, text.reportedName, text.identifiers, text.lastRun]}>
        {rows.map(({ asset, deviceName, identifiers, jobId, lastSeenTimestamp }) => (
          <tr key={asset.id}>
            <td>
              <Link to={`/assets/${asset.id}`}>{asset.name ?? asset.id}</Link>
            </td>
            <td>{deviceName}</td>
            <td>{identifiers.map((identifier) => identifierLine(identifier, language)).join(', ')}</td>
            <td>
              {jobId === null ? (
                <Time at={lastSeenTimestamp} />
              ) : (
                <Link to={`/discovery/scans/${jobId}`}>
                  <Time at={lastSeenTimestamp} />
                </Link>
              )}
            </td>
          </tr>
        ))}
      </PlainTable>
      {total > rows.length && (
        <p className="quiet">{text.conflictsShown(formats.number(rows.length), formats.number(total))}</p>
      )}
    </Card>
  )
}
