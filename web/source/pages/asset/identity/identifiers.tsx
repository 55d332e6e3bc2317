import { IxButton } from '@siemens/ix-react'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { useOperationQuery } from '../../../app/api/queries.ts'
import { useLanguage, useText } from '../../../app/language/language-context.tsx'
import { CopyButton } from '../../../components/actions/copy-button.tsx'
import { QueryState } from '../../../components/feedback/query-state.tsx'
import { Card } from '../../../components/page/card.tsx'
import { textAt } from '../../assets/model/asset.ts'
import { identifierFields, identifierKind } from '../../assets/model/identifier-names.ts'
import { assetEvents } from '../asset-data.ts'
import type { AssetTabProps } from '../asset-tab.ts'
import { assetMessages } from '../messages.ts'
import { elementsOf } from '../overview/asset-elements.ts'
import { identityMessages } from './identity-messages.ts'
import { SplitDialog } from './split-dialog.tsx'

/**
 * `Identifiers` lists the identifiers of an asset. The current identifiers are ordered by confidence. The identifiers
 * of an earlier version have the order in which they were stored.
 */
export function Identifiers({ asset, at, canWrite }: AssetTabProps) {
  const text = useText(assetMessages)
  const query = useOperationQuery()
  const own = useText(identityMessages)
  const [isSplitting, setSplitting] = useState(false)
  const now = useQuery({
    ...query(['inventory', 'readIdentifiers'], { params: { id: asset.id } }, { live: assetEvents }),
    enabled: at === undefined,
  })
  const identifiers = now.data?.data ?? []
  return (
    <Card
      title={text.identifiers}
      actions={
        canWrite &&
        identifiers.length > 1 && (
          <IxButton variant="secondary" onClick={() => setSplitting(true)}>
            {own.split}
          </IxButton>
        )
      }
    >
      {at !== undefined ? (
        <IdentifierList identifiers={elementsOf(asset, 'asset_identifiers')} />
      ) : (
        <QueryState query={now}>
          {({ data }) => (
            <>
              <p className="quiet card-hint">{text.identifiersHint}</p>
              <IdentifierList identifiers={data} />
            </>
          )}
        </QueryState>
      )}
      {isSplitting && <SplitDialog id={asset.id} identifiers={identifiers} onClose={() => setSplitting(false)} />}
    </Card>
  )
}

function IdentifierList({ identifiers }: { identifiers: readonly unknown[] }) {
  const text = useText(assetMessages)
  if (identifiers.length === 0) return <p className="quiet">{text.none}</p>
  return (
    <ol className="identifiers">
      {identifiers.map((identifier) => (
        <li key={JSON.stringify(identifier)}>
          <IdentifierText identifier={identifier} isCopyable />
        </li>
      ))}
    </ol>
  )
}

type IdentifierTextProps = { identifier: unknown; isCopyable?: boolean }

export function IdentifierText({ identifier, isCopyable = false }: IdentifierTextProps) {
  const text = useText(assetMessages)
  const language = useLanguage()
  const uncertainty = textAt(identifier, 'identifier_uncertainty')
  const fields = identifierFields(identifier, language)
  return (
    <>
      <strong>{identifierKind(identifier, language)}</strong>
      {uncertainty !== '' && (
        <span className="quiet">
          {' '}
          {text.uncertainty} {uncertainty}
        </span>
      )}
      <span className="identifier-fields">
        {fields.map(({ name, value }) => (
          <span key={name} className={isCopyable ? 'with-copy' : undefined}>
            {fields.length > 1 && <span className="quiet">{name} </span>}
            <code>{value}</code>
            {isCopyable && <CopyButton value={String(value)} label={name} />}
          </span>
        ))}
      </span>
    </>
  )
}
