import { type Campaign, campaignStates, finalDeviceStates } from '@millwright/api/updates.ts'
import { iconRocket } from '@siemens/ix-icons/icons'
import { IxButton } from '@siemens/ix-react'
import { Link, useNavigate } from '@tanstack/react-router'
import { Fragment } from 'react'
import { usePagedList } from '../../../app/api/paged-list.ts'
import type { Formats } from '../../../app/language/formats.ts'
import { useFormats, useText } from '../../../app/language/language-context.tsx'
import { useSearchState } from '../../../app/navigation/search-state.ts'
import { usePermission } from '../../../app/session/app-context.tsx'
import { Progress } from '../../../components/feedback/progress.tsx'
import { SelectField } from '../../../components/forms/fields.tsx'
import { EmptyState } from '../../../components/page/empty-state.tsx'
import type { Column } from '../../../components/tables/data-table.tsx'
import { useHasEntries } from '../../../components/tables/entries.ts'
import { PagedTable } from '../../../components/tables/paged-table.tsx'
import { Toolbar } from '../../../components/tables/toolbar.tsx'
import { Time } from '../../../components/values/time.tsx'
import { updateMessages } from '../messages.ts'
import { CampaignStateChip } from '../state-chips.tsx'
import { campaignStateNames, deviceStateNames } from '../state-names.ts'
import { updateEvents } from '../update-data.ts'
import { countsOf, runningCampaigns } from './campaign-counts.ts'
import { DraftTargets } from './draft-targets.tsx'
import { type CampaignText, campaignMessages } from './messages.ts'
import { NoCampaigns } from './no-campaigns.tsx'
import { OutdatedProducts } from './outdated.tsx'

/** `CampaignList` lists campaigns, newest first. Events update the list. */
export function CampaignList() {
  const text = useText(campaignMessages)
  const states = useText(campaignStateNames)
  const deviceStates = useText(deviceStateNames)
  const steps = useText(updateMessages)
  const formats = useFormats()
  const navigate = useNavigate()
  const canManage = usePermission('glb_update_manage')
  const [search, setSearch] = useSearchState<'state'>()
  const state = campaignStates.find((each) => each === search.state)
  const pagedList = usePagedList(['updates', 'listCampaigns'], { query: { ...(state && { state }) } }, updateEvents)
  const hasEntries = useHasEntries(pagedList, state !== undefined)
  const { rows, total } = pagedList
  const running = runningCampaigns(rows, { total, isFiltered: state !== undefined })
  const counts = [text.count(total, formats.number(total)), ...(running === undefined ? [] : [text.running(running)])]
  return (
    <>
      {hasEntries && <OutdatedProducts />}
      {hasEntries && <h2 className="section-title">{text.campaigns}</h2>}
      {hasEntries && (
        <Toolbar count={counts.join(', ')}>
          {canManage && <IxButton onClick={() => navigate({ to: '/updates/campaigns/new' })}>{text.create}</IxButton>}
          <SelectField
            label={text.state}
            isLabelUnseen
            value={state ?? ''}
            onChange={(value) => setSearch({ state: value })}
            choices={[
              { value: '', label: text.anyState },
              ...campaignStates.map((value) => ({ value, label: states[value] })),
            ]}
          />
        </Toolbar>
      )}
      <PagedTable
        label={text.campaigns}
        pagedList={pagedList}
        columns={columnsOf(text, { steps, formats, deviceStates, canManage })}
        idOf={({ id }) => id}
        onOpen={({ id }) => navigate({ to: `/updates/campaigns/${id}` })}
        empty={
          state === undefined ? (
            <NoCampaigns />
          ) : (
            <EmptyState icon={iconRocket} title={text.noMatches}>
              <p>{text.noMatchesHint}</p>
              <IxButton variant="secondary" onClick={() => setSearch({ state: undefined })}>
                {text.showAll}
              </IxButton>
            </EmptyState>
          )
        }
      />
    </>
  )
}

type ColumnContext = {
  steps: (typeof updateMessages)['en']
  formats: Formats
  deviceStates: (typeof deviceStateNames)['en']
  canManage: boolean
}

function columnsOf(text: CampaignText, { steps, formats, deviceStates, canManage }: ColumnContext): Column<Campaign>[] {
  return [
    {
      id: 'name',
      header: text.name,
      width: 250,
      minWidth: 240,
      cell: ({ id, name }) => (
        <Link to={`/updates/campaigns/${id}`} title={name}>
          {name}
        </Link>
      ),
    },
    {
      id: 'artefact',
      header: text.artefact,
      width: 290,
      minWidth: 285,
      cell: ({ artefactId, artefact }) => {
        const name = `${artefact.name} ${artefact.version}`
        return (
          <Link to={`/updates/artefacts/${artefactId}`} title={name}>
            {name}
          </Link>
        )
      },
    },
    { id: 'state', header: text.state, width: 125, cell: (campaign) => <CampaignStateChip campaign={campaign} /> },
    {
      id: 'progress',
      header: text.result,
      width: 230,
      minWidth: 190,
      cell: ({ id, state, counts, targets }) => {
        const { done, total } = countsOf(counts)
        if (state === 'draft')
          return (
            <span title={text.devicesAtStartHint}>
              <DraftTargets targets={targets} />
              {canManage && (
                <>
                  {' · '}
                  <Link to={`/updates/campaigns/${id}`}>{steps.draft}</Link>
                </>
              )}
            </span>
          )
        if (total === 0) return null
        if (done < total) return <Progress value={Math.floor((100 * done) / total)} label={text.progress} />
        const updated = text.updatedOf(
          formats.number(counts.succeeded),
          formats.number(total),
          formats.percent(counts.succeeded / total),
        )
        const others = finalDeviceStates.filter((each) => each !== 'succeeded' && counts[each] > 0)
        return (
          <span {...(others.length > 0 && { className: 'grid-lines' })}>
            {updated}
            {others.map((each) => (
              <Fragment key={each}>
                {', '}
                <Link to={`/updates/campaigns/${id}`} search={{ state: each } as never}>
                  {formats.number(counts[each])} {deviceStates[each].toLowerCase()}
                </Link>
              </Fragment>
            ))}
          </span>
        )
      },
    },
    { id: 'user', header: text.createdBy, width: 120, cell: ({ createdBy }) => createdBy.name },
    {
      id: 'created',
      header: text.created,
      width: 100,
      cell: (campaign) => <Time at={campaign.createdTimestamp} isRelative isShort />,
    },
  ]
}
