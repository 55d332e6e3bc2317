import type { Proposal } from '@millwright/api/inbox.ts'
import type { Language } from '../../../app/language/language.ts'
import { basePath } from '../../../app/navigation/base-path.ts'
import type { GridColumn } from '../../../components/tables/grid-column.ts'
import { assetTypeName } from '../../../components/values/asset-type-names.ts'
import { ClassIcon } from '../../../components/values/class-icon.tsx'
import { CutText } from '../../../components/values/cut-text.tsx'
import { Time } from '../../../components/values/time.tsx'
import { type Asset, classOf, nameOf, textAt, textsIn, valueAt } from '../../assets/model/asset.ts'
import type { columnMessages, inboxMessages } from '../messages.ts'

const product = 'product_instance_information/manufacturer_product'

/** The fields of assets that the table and the preview show. */
export const inboxFields = [
  'functional_object_type',
  'product_instance_information',
  'connection_points',
  'software_components',
  'access_group',
  'created_timestamp',
] as const

/** The number of nodes of a path that the table shows. The tooltip contains the whole path. */
const shownNodes = 2

type InboxColumnOptions = {
  language: Language
  names: (typeof columnMessages)['en']
  text: (typeof inboxMessages)['en']
  proposals: ReadonlyMap<string, Proposal>
  /** Whether the table has the column of the proposed targets. */
  hasProposals: boolean
}

/** Returns the columns of the inbox. They fit next to the preview. */
export function inboxColumns({
  language,
  names,
  text,
  proposals,
  hasProposals,
}: InboxColumnOptions): GridColumn<Asset>[] {
  return [
    {
      id: 'name',
      header: names.name,
      width: 142,
      isPinned: true,
      isSortable: true,
      cell: (asset) => (
        <span className="grid-name">
          <ClassIcon assetClass={classOf(asset)} language={language} />
          <a href={`${basePath}/assets/${asset.id}`} data-opens-row="" tabIndex={-1} title={nameOf(asset)}>
            <CutText text={nameOf(asset)} />
          </a>
        </span>
      ),
    },
    {
      id: `${product}/product_name`,
      header: names.product,
      width: 186,
      isSortable: true,
      cell: (asset) => {
        return (
          textAt(asset, `${product}/product_name`) ||
          productOf(asset) ||
          assetTypeName(textAt(asset, 'functional_object_type'), language)
        )
      },
    },
    {
      id: 'ipv4',
      header: names.address,
      width: 108,
      cell: (asset) => textsIn(asset, 'connection_points', 'ipv4_address').join(', '),
    },
    ...(hasProposals
      ? [
          {
            id: 'proposal',
            header: names.proposal,
            width: 150,
            cell: (asset: Asset) => {
              const proposal = proposals.get(asset.id)
              if (proposal === undefined) return <span className="quiet">–</span>
              return <span title={targetText(proposal, text)}>{shortTarget(proposal, text)}</span>
            },
          },
        ]
      : []),
    {
      id: 'created_timestamp',
      header: names.found,
      width: 104,
      isSortable: true,
      cell: (asset) => {
        const at = valueAt(asset, 'created_timestamp')
        return typeof at === 'string' ? <Time at={at} isRelative isShort /> : null
      },
    },
  ]
}

/** Returns the manufacturer and the product of an asset as one text. */
export function productOf(asset: Asset): string {
  const manufacturer = textAt(asset, `${product}/manufacturer/name`)
  const name = textAt(asset, `${product}/product_name`)
  return name.startsWith(manufacturer) ? name : [manufacturer, name].filter((part) => part !== '').join(' ')
}

/** Returns the target of a proposal as a short text: the last nodes of its path, otherwise the access group. */
export function shortTarget(
  { nodePath, accessGroup }: Pick<Proposal, 'nodePath' | 'accessGroup'>,
  text: InboxColumnOptions['text'],
): string {
  return nodePath?.slice(-shownNodes).join(' › ') ?? accessGroup ?? text.currentGroup
}

/** Returns the target of a proposal as one text: the node, and the access group. */
export function targetText(
  { nodePath, accessGroup }: Pick<Proposal, 'nodePath' | 'accessGroup'>,
  text: InboxColumnOptions['text'],
): string {
  const parts = [nodePath?.join(' › '), accessGroup && text.inGroup(accessGroup)].filter((part) => part !== undefined)
  return parts.length === 0 ? text.sameGroup : parts.join(' · ')
}

/** Returns the target of a proposal for a sentence: the last nodes of its path, otherwise the access group. */
export function targetLine(
  { nodePath, accessGroup }: Pick<Proposal, 'nodePath' | 'accessGroup'>,
  text: InboxColumnOptions['text'],
): string {
  return nodePath === undefined
    ? targetText(accessGroup === undefined ? {} : { accessGroup }, text)
    : shortTarget({ nodePath }, text)
}
