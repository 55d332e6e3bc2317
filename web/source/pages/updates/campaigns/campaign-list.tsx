import { type Campaign, campaignStates } from '@millwright/api/updates.ts'
import { iconRocket } from '@siemens/ix-icons/icons'
import { IxButton } from '@siemens/ix-react'
import { useNavigate } from '@tanstack/react-router'
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
import { CampaignStateChip } from '../state-chips.tsx'
import { campaignStateNames } from '../state-names.ts'
import { updateEvents } from '../update-data.ts'
import { countsOf } from './campaign-counts.ts'
import { type CampaignText, campaignMessages } from './messages.ts'
import { NoCampaigns } from './no-campaigns.tsx'

/** `CampaignList` lists campaigns, newest first. Events update the list. */
export function CampaignList() {
  const text = useText(campaignMessages)
  const states = useText(campaignStateNames)
  const formats = useFormats()
  const navigate = useNavigate()
  const canManage = usePermission('glb_update_manage')
  const [search, setSearch] = useSearchState<'state'>()
  const state = campaignStates.find((each) => each === search.state)
  const pagedList = usePagedList(['updates', 'listCampaigns'], { query: { ...(state && { state }) } }, updateEvents)
  const hasEntries = useHasEntries(pagedList, state !== undefined)
  return (
    <>
      {hasEntries && (
        <Toolbar count={text.count(pagedList.total, formats.number(pagedList.total))}>
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
          {canManage && <IxButton onClick={() => navigate({ to: '/updates/campaigns/new' })}>{text.create}</IxButton>}
        </Toolbar>
      )}
      <PagedTable
        label={text.campaigns}
        pagedList={pagedList}
        columns={columnsOf(text, formats)}
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

function columnsOf(text: CampaignText, formats: Formats): Column<Campaign>[] {
  return [
    { id: 'name', header: text.name, width: 230, cell: ({ name }) => name },
    {
      id: 'artefact',
      header: text.artefact,
      width: 210,
      cell: ({ artefact }) => `${artefact.name} ${artefact.version}`,
    },
    { id: 'state', header: text.state, width: 140, cell: ({ state }) => <CampaignStateChip state={state} /> },
    {
      id: 'progress',
      header: text.progress,
      width: 155,
      cell: ({ state, counts }) => {
        const { done, total } = countsOf(counts)
        if (state === 'draft' || total === 0) return null
        return <Progress value={Math.floor((100 * done) / total)} label={text.progress} />
      },
    },
    { id: 'devices', header: text.devices, width: 90, isNumber: true, cell: ({ devices }) => formats.number(devices) },
    { id: 'user', header: text.createdBy, width: 125, cell: ({ createdBy }) => createdBy.name },
    { id: 'created', header: text.created, width: 170, cell: (campaign) => <Time at={campaign.createdTimestamp} /> },
  ]
}
