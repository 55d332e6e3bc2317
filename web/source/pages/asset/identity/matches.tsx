import type { Output } from '../../../app/api/client.ts'
import { useText } from '../../../app/language/language-context.tsx'
import { QueryState } from '../../../components/feedback/query-state.tsx'
import { Card } from '../../../components/page/card.tsx'
import { Time } from '../../../components/values/time.tsx'
import { AuthorLink } from '../../activity/author-link.tsx'
import { useLatestHistory } from '../asset-data.ts'
import type { AssetTabProps } from '../asset-tab.ts'
import { Source } from '../history/source.tsx'
import { assetMessages } from '../messages.ts'
import { IdentifierText } from './identifiers.tsx'
import { identityMessages } from './identity-messages.ts'

const maxShown = 5

type Entry = Output<'inventory', 'readHistory'>['data'][number]

/** `Matches` shows by which identifiers each report was matched to this asset. */
export function Matches({ asset, at }: AssetTabProps) {
  const text = useText(identityMessages)
  const history = useLatestHistory(asset.id)
  return (
    <Card title={text.matches}>
      <QueryState query={history}>
        {({ data }) => {
          const shown = data.filter((entry) => isMatch(entry) && (at === undefined || entry.time <= at))
          if (shown.length === 0) return <p className="quiet">{text.noMatches}</p>
          return (
            <>
              <p className="quiet card-hint">{text.matchesHint}</p>
              <ol className="plain-list parts">
                {shown.slice(0, maxShown).map((entry) => (
                  <Match key={entry.version} entry={entry} />
                ))}
              </ol>
            </>
          )
        }}
      </QueryState>
    </Card>
  )
}

/**
 * Returns true when a report created the asset, or was matched to the asset by identifiers. A change that names the
 * asset by its id is not a match.
 */
function isMatch({ change, matchedBy }: Entry): boolean {
  return change === 'created' || matchedBy !== undefined
}

function Match({ entry: { time, source, matchedBy, principal, principalName } }: { entry: Entry }) {
  const text = useText(identityMessages)
  const about = useText(assetMessages)
  const origin = { split: text.isSplit, merge_undone: text.isRestored }[source.type] ?? text.isNew
  return (
    <li>
      <span>
        <Time at={time} />{' '}
        <span className="quiet">
          {about.by} <AuthorLink principal={principal} principalName={principalName} /> · <Source source={source} />
        </span>
      </span>
      {matchedBy === undefined ? (
        <span>{origin}</span>
      ) : (
        <>
          <span>{text.matchedBy}</span>
          <ul className="evidence">
            {matchedBy.map((identifier) => (
              <li key={JSON.stringify(identifier)}>
                <IdentifierText identifier={identifier} />
              </li>
            ))}
          </ul>
        </>
      )}
    </li>
  )
}
