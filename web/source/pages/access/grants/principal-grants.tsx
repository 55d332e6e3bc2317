import { IxButton } from '@siemens/ix-react'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { useGroupNames } from '../../../app/api/access-groups.ts'
import { useOperationQuery } from '../../../app/api/queries.ts'
import { useText } from '../../../app/language/language-context.tsx'
import { QueryState } from '../../../components/feedback/query-state.tsx'
import { Card } from '../../../components/page/card.tsx'
import { PlainTable } from '../../../components/tables/plain-table.tsx'
import { Time } from '../../../components/values/time.tsx'
import { accessMessages } from '../messages.ts'
import { GrantDialog } from './grant-dialog.tsx'
import { RevokeButton } from './revoke-button.tsx'

type PrincipalGrantsProps = { principal: { id: string; name: string }; detail?: string; suggestedRole?: string }

/** `PrincipalGrants` lists, assigns and revokes the roles of a principal. */
export function PrincipalGrants({ principal, detail, suggestedRole }: PrincipalGrantsProps) {
  const text = useText(accessMessages)
  const query = useOperationQuery()
  const groups = useGroupNames()
  const [isAssigning, setAssigning] = useState(false)
  const input = { query: { principal: principal.id, limit: 100 } }
  const grants = useQuery(query(['authorization', 'listGrants'], input, { live: ['authorization.grant'] }))
  return (
    <Card title={text.roles} actions={<IxButton onClick={() => setAssigning(true)}>{text.addGrant}</IxButton>}>
      {detail !== undefined && <p className="quiet card-lead">{detail}</p>}
      <QueryState query={grants}>
        {({ data }) =>
          data.length === 0 ? (
            <p className="quiet">{text.noGrants}</p>
          ) : (
            <PlainTable columns={[text.role, text.where, text.since, { unseen: text.revoke }]}>
              {data.map((grant) => (
                <tr key={grant.id}>
                  <td>{grant.role}</td>
                  <td>
                    {grant.accessGroup === null
                      ? text.everywhere
                      : (groups.get(grant.accessGroup) ?? grant.accessGroup)}
                  </td>
                  <td>
                    <Time at={grant.createdTimestamp} isDate />
                  </td>
                  <td>
                    <RevokeButton grant={grant} />
                  </td>
                </tr>
              ))}
            </PlainTable>
          )
        }
      </QueryState>
      {isAssigning && (
        <GrantDialog
          principal={principal.id}
          {...(suggestedRole !== undefined && { suggestedRole })}
          onClose={() => setAssigning(false)}
        />
      )}
    </Card>
  )
}
