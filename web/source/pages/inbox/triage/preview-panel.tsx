import type { InboxAsset, Proposal } from '@millwright/api/inbox.ts'
import { IxButton } from '@siemens/ix-react'
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { useOperationQuery } from '../../../app/api/queries.ts'
import { useFormats, useLanguage, useText } from '../../../app/language/language-context.tsx'
import { useApi } from '../../../app/session/app-context.tsx'
import { ConfirmDialog } from '../../../components/dialogs/confirm-dialog.tsx'
import { QueryState } from '../../../components/feedback/query-state.tsx'
import { showSuccess } from '../../../components/feedback/toast.ts'
import { KeyValueList } from '../../../components/values/key-value-list.tsx'
import { StatusChip } from '../../../components/values/status-chip.tsx'
import { type Asset, firmwareOf, nameOf, textAt, textsIn } from '../../assets/model/asset.ts'
import { identifierLine } from '../../assets/model/identifier-names.ts'
import { stateName } from '../../assets/model/value-names.ts'
import { linkTitle } from '../../discovery/built-in-links.ts'
import {
  columnMessages,
  confidenceHintMessages,
  confidenceMessages,
  inboxMessages,
  reasonMessages,
} from '../messages.ts'
import { startOf } from './facet-menus.tsx'
import { productOf, shortTarget, targetText } from './inbox-columns.tsx'

type PreviewPanelProps = {
  asset: Asset
  state: 'unknown' | 'ignored'
  canWrite: boolean
  /** The target that an onboarding rule proposes for the asset. */
  proposal: Proposal | undefined
  onOnboard: () => void
  onOnboardInto: () => void
  onIgnore: () => void
  onMerged: () => void
}

/** `PreviewPanel` shows the current asset of the inbox: why it is new, its possible duplicate, and its main data. */
export function PreviewPanel(props: PreviewPanelProps) {
  const { asset, state, canWrite, proposal, onOnboard, onOnboardInto, onIgnore, onMerged } = props
  const text = useText(inboxMessages)
  const query = useOperationQuery()
  const details = useQuery(
    query(['inbox', 'readInboxAsset'], { params: { id: asset.id } }, { live: ['inventory.duplicate', 'inbox.rule'] }),
  )
  const product = productOf(asset)
  return (
    <aside className="preview" aria-label={text.preview}>
      <div className="preview-head">
        <h2>
          <Link to={`/assets/${asset.id}`}>{nameOf(asset)}</Link>
        </h2>
        {product !== '' && <p className="quiet">{product}</p>}
      </div>
      {canWrite && (
        <div className="preview-actions">
          {/* Without a proposal, the first choice is to choose a node, so that the asset gets a place. */}
          {proposal === undefined ? (
            <IxButton className="preview-action" title={text.onboardIntoHint} onClick={onOnboardInto}>
              {text.onboardInto}
            </IxButton>
          ) : (
            <IxButton className="preview-action" title={targetText(proposal, text)} onClick={onOnboard}>
              {text.onboardTo(shortTarget(proposal, text))}
            </IxButton>
          )}
          {proposal === undefined && (
            <IxButton variant="secondary" title={text.onboardHint} onClick={onOnboard}>
              {text.onboardWithoutNode}
            </IxButton>
          )}
          {proposal !== undefined && (
            <IxButton variant="secondary" title={text.onboardIntoHint} onClick={onOnboardInto}>
              {text.onboardInto}
            </IxButton>
          )}
          <IxButton variant="secondary" onClick={onIgnore}>
            {state === 'ignored' ? text.restore : text.ignore}
          </IxButton>
        </div>
      )}
      <QueryState query={details}>
        {({ data }) => (
          <>
            <ProposalBox details={data} />
            <Origin details={data} />
            <DuplicateBox asset={asset} details={data} canWrite={canWrite} onMerged={onMerged} />
          </>
        )}
      </QueryState>
      <Facts asset={asset} identifiers={details.data?.data.identifiers ?? []} />
    </aside>
  )
}

function ProposalBox({ details: { proposal } }: { details: InboxAsset }) {
  const text = useText(inboxMessages)
  if (proposal === undefined) return null
  return (
    <section className="preview-box" data-tone="info">
      <h3>{text.proposal}</h3>
      <p>
        <strong>{targetText(proposal, text)}</strong>
      </p>
      <p className="quiet">{text.byRule(proposal.ruleName)}</p>
    </section>
  )
}

/** `Origin` explains why the asset is new: the scan that found it, and the identifiers that no asset had. */
function Origin({ details }: { details: InboxAsset }) {
  const text = useText(inboxMessages)
  const language = useLanguage()
  const formats = useFormats()
  const confidenceNames = useText(confidenceMessages)
  const confidenceHints = useText(confidenceHintMessages)
  const { scan, source, gateway, assetLink, confidence, identifiers } = details
  const link = assetLink?.name ?? (scan && linkTitle(scan.assetLinkId))
  const gatewayName = gateway?.name ?? scan?.gatewayName
  return (
    <section className="preview-box">
      <h3>{text.whyNew}</h3>
      <p>
        {scan !== undefined || gateway !== undefined ? (
          <>
            {link === undefined
              ? text.foundByGateway(gatewayName ?? text.unknownGateway)
              : text.foundBy(link, gatewayName ?? text.unknownGateway)}
            {scan !== undefined && (
              <>
                {', '}
                <Link to={`/discovery/scans/${scan.jobId}`}>
                  {scan.scope === undefined || scan.scope.length === 0
                    ? text.scanOf(formats.compact(startOf(scan)))
                    : text.scanIn(scan.scope.join(', '))}
                </Link>
              </>
            )}
          </>
        ) : (
          originText(source, text)
        )}
      </p>
      <p>{text.unknownIdentifiers(identifiers.length)}</p>
      <ul className="identifiers">
        {identifiers.map(({ identifier, confidence: own }) => (
          <li key={JSON.stringify(identifier)}>
            <span>{identifierLine(identifier, language)}</span>
            {own === 'low' && <span className="quiet"> · {confidenceNames.low}</span>}
          </li>
        ))}
      </ul>
      <h3>
        <StatusChip tone={confidence === 'high' ? 'good' : confidence === 'medium' ? 'info' : 'warning'}>
          {confidenceNames[confidence]}
        </StatusChip>
      </h3>
      <p className="quiet">{confidenceHints[confidence]}</p>
    </section>
  )
}

/** Returns the program that reported an asset without a scan, and its API client, or the user who created the asset. */
function originText(source: InboxAsset['source'], text: (typeof inboxMessages)['en']): string {
  const author = source?.principalName ?? text.unknownAuthor
  const isReport = source !== undefined && source.type !== 'manual' && source.value !== undefined
  return isReport ? text.reportedBy(source.value ?? '', author) : text.createdBy(author)
}

/** The reasons that make a duplicate likely. Different devices can have the same name, or the same address in two networks. */
const strongReasons: readonly string[] = ['reported_together', 'mac', 'identifier', 'serial_number']

type DuplicateBoxProps = { asset: Asset; details: InboxAsset; canWrite: boolean; onMerged: () => void }

/** `DuplicateBox` shows the asset that may be the same device, and why. The user can merge the two assets. */
function DuplicateBox({ asset, details: { possibleDuplicate: other }, canWrite, onMerged }: DuplicateBoxProps) {
  const text = useText(inboxMessages)
  const language = useLanguage()
  const api = useApi()
  const reasons = useText(reasonMessages)
  const [isMerging, setMerging] = useState(false)
  if (other === undefined)
    return (
      <p className="quiet" title={text.noPossibleDuplicate}>
        {text.noDuplicate}
      </p>
    )
  const name = other.name ?? other.id
  const isStrong = other.reasons.some(({ kind }) => strongReasons.includes(kind))
  const merge = async () => {
    const body = { data: { other: asset.id } }
    await api.inventory.mergeAsset({ params: { id: other.id }, headers: { prefer: 'wait=20' }, body })
    showSuccess(text.merged)
    onMerged()
  }
  return (
    <section className="preview-box" data-tone={isStrong ? 'warning' : undefined}>
      <h3>{text.possibleDuplicate}</h3>
      <p>
        <Link to={`/assets/${other.id}`}>{name}</Link>{' '}
        <span className="quiet">
          {stateName('management_state', other.managementState, language)} · {other.accessGroup}
        </span>
      </p>
      <ul className="identifiers">
        {other.reasons.map(({ kind, value }) => (
          <li key={kind}>
            {reasons[kind]} {value !== '' && <code>{value}</code>}
          </li>
        ))}
      </ul>
      {!isStrong && <p className="quiet">{text.weakHint}</p>}
      {canWrite && isStrong && (
        <div>
          <IxButton variant="secondary" onClick={() => setMerging(true)}>
            {text.mergeDots}
          </IxButton>
        </div>
      )}
      {isMerging && (
        <ConfirmDialog title={text.mergeTitle} action={text.merge} onConfirm={merge} onClose={() => setMerging(false)}>
          <p>{text.mergeText(name, nameOf(asset))}</p>
        </ConfirmDialog>
      )}
    </section>
  )
}

type FactsProps = { asset: Asset; identifiers: InboxAsset['identifiers'] }

/** `Facts` shows the main data of the asset that the table does not show, except the MAC addresses that are among its identifiers. */
function Facts({ asset, identifiers }: FactsProps) {
  const text = useText(inboxMessages)
  const names = useText(columnMessages)
  const points = (field: string) => [...new Set(textsIn(asset, 'connection_points', field))]
  const known = JSON.stringify(identifiers).toLowerCase()
  const macs = points('mac_address').filter((mac) => !known.includes(mac.toLowerCase()))
  return (
    <KeyValueList
      items={[
        { name: names.mac, value: macs.join(', ') },
        { name: names.serial, value: textAt(asset, 'product_instance_information/serial_number') },
        {
          name: names.article,
          value: textAt(asset, 'product_instance_information/manufacturer_product/product_id'),
        },
        { name: names.firmware, value: firmwareOf(asset) },
        { name: text.accessGroup, value: textAt(asset, 'access_group') },
      ]}
    />
  )
}
