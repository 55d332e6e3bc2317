import { iconHistory } from '@siemens/ix-icons/icons'
import { IxButton } from '@siemens/ix-react'
import { useEffect, useState } from 'react'
import { useFormats, useText } from '../../app/language/language-context.tsx'
import { Loading } from '../../components/feedback/loading.tsx'
import { ProblemMessage } from '../../components/feedback/problem-message.tsx'
import { ViewSwitch } from '../../components/forms/view-switch.tsx'
import { EmptyState } from '../../components/page/empty-state.tsx'
import { PageHeader } from '../../components/page/page-header.tsx'
import { usePageTitle } from '../../components/page/page-title.ts'
import { useFileDownload } from '../files/file-download.ts'
import { exportQuery, useActivitySearch, useEntries, useLiveActivity } from './activity-data.ts'
import { ActivityFilterBar } from './activity-filters.tsx'
import { ActivityHistogram } from './activity-histogram.tsx'
import { ActivityList } from './activity-list.tsx'
import { EntryPanel } from './entry-panel.tsx'
import { rowsOf } from './entry-rows.ts'
import { ExportMenu } from './export-menu.tsx'
import { activityMessages } from './messages.ts'
import { presets } from './time-range.ts'
import './activity.css'

/** Similar entries are one row. If the first entries make fewer rows than this, the page loads more entries automatically. */
const fewestRows = 12
/** The number of entries after which the page waits for the user. */
const mostEntries = 500

/**
 * `ActivityPage` shows what happened in a time range: a histogram, and a list of sentences. The user selects a part of the
 * range in the histogram, filters the list, and opens the details of an entry in a side panel.
 */
export function ActivityPage() {
  const text = useText(activityMessages)
  const formats = useFormats()
  const { preset, range, now, filters, selected, setSearch } = useActivitySearch()
  const list = useEntries(filters, range, selected)
  const { save, failure } = useFileDownload()
  const [openId, setOpenId] = useState<string>()
  useLiveActivity({ isLive: range.to === undefined && selected === undefined })
  usePageTitle(text.title)
  const { entries, hasMore, isLoadingMore, next } = list
  const rows = rowsOf(entries)
  const isShort = entries.length < mostEntries && rows.length < fewestRows
  // biome-ignore lint/correctness/useExhaustiveDependencies: each loaded page decides about the next one
  useEffect(() => {
    if (isShort && hasMore && !isLoadingMore) next()
  }, [isShort, hasMore, isLoadingMore, entries.length])
  const isFiltered = Object.keys(filters).length > 0
  const clearSelection = () => setSearch({ from: undefined, to: undefined })
  return (
    <>
      <PageHeader
        title={text.title}
        subtitle={text.subtitle}
        actions={<ExportMenu query={exportQuery(filters, range, selected)} save={save} />}
      />
      {failure !== undefined && <ProblemMessage failure={failure} />}
      <section className="card activity-time" aria-label={text.range}>
        <div className="activity-tools">
          <ViewSwitch
            label={text.range}
            choices={presets.map((value) => ({ value, label: text[value] }))}
            chosen={preset}
            onChoose={(chosen) => setSearch({ range: chosen, from: undefined, to: undefined })}
          />
          {selected !== undefined && (
            <span className="activity-selected">
              {formats.dateTime(selected.from)} – {formats.dateTime(selected.to)}
              <button type="button" className="link-button" onClick={clearSelection}>
                {text.clearSelection}
              </button>
            </span>
          )}
        </div>
        <ActivityHistogram
          filters={filters}
          range={range}
          now={now}
          selected={selected}
          onSelect={(chosen) => setSearch({ from: chosen?.from, to: chosen?.to })}
        />
      </section>
      <ActivityFilterBar filters={filters} range={range} onChange={setSearch} />
      <div className="with-side-panel">
        <div className="activity-entries">
          {list.error !== null ? (
            <ProblemMessage failure={list.error} onRetry={list.retry} />
          ) : list.isLoading ? (
            <Loading />
          ) : list.entries.length === 0 ? (
            <EmptyState icon={iconHistory} title={isFiltered ? text.noneFiltered : text.none}>
              <p>{text.noneHint}</p>
            </EmptyState>
          ) : (
            <ActivityList
              entries={list.entries}
              hasMore={list.hasMore}
              filters={filters}
              times={exportQuery({}, range, selected)}
              openId={openId}
              onOpen={setOpenId}
            />
          )}
          {list.hasMore && (
            <div className="activity-more">
              <IxButton variant="secondary" loading={list.isLoadingMore && !isShort} onClick={list.next}>
                {text.loadMore}
              </IxButton>
            </div>
          )}
        </div>
        {openId !== undefined && (
          <EntryPanel
            key={openId}
            id={openId}
            beginId={rows.find(({ entry }) => entry.id === openId)?.begin?.id}
            onFilter={(change) => setSearch(change)}
            onClose={() => setOpenId(undefined)}
          />
        )}
      </div>
    </>
  )
}
