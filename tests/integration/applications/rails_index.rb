# What a scaffold of Rails does: index with pages, show, search, associations; by ActiveRecord.
require "active_record"

WARNING = "these rows are synthetic"
def warned?
  $warnings.any? { |w| w.include?(WARNING) }
end
$warnings = []

alone = ENV.delete("PGOPTIONS").to_s.include?("source=synthetic")
ActiveRecord::Base.establish_connection(adapter: "postgresql", host: ENV["PGHOST"], port: ENV["PGPORT"],
  username: ENV["PGUSER"], password: ENV["PGPASSWORD"], database: ENV["PGDATABASE"], min_messages: "warning",
  variables: alone ? { "dpproxy.source" => "synthetic" } : {})
ActiveRecord::Base.connection.raw_connection.set_notice_processor { |message| $warnings << message }

class Patient < ActiveRecord::Base
  has_many :visits
end

class Visit < ActiveRecord::Base
  self.primary_key = "visit_id"
  belongs_to :patient
end

def expect(name, got, want)
  raise "#{name}: #{got.inspect}, want #{want.inspect}" unless got == want
  raise "#{name}: no warning" unless warned?
  $warnings.clear
end

expect "index", Patient.order(id: :desc).limit(2).map(&:name), ["Nobody 1", "Nobody 2"]
expect "all", Patient.all.to_a.size, 30
expect "page", Patient.order(id: :desc).limit(10).offset(20).pluck(:name).first, "Nobody 21"
expect "find", Patient.find(-3).name, "Nobody 3"
expect "find_by", Patient.find_by(name: "Nobody 7").id, -7
expect "first", Patient.first.name, "Nobody 30"
expect "last", Patient.last.name, "Nobody 1"
expect "where", Patient.where(ward: "A").where("age > ?", 40).order(:id).first.name, "Nobody 30"
expect "exists?", Patient.where(smoker: true).pluck(:id).any?, true
expect "includes", Visit.includes(:patient).order(visit_id: :desc).limit(3).map { |v| v.patient.name },
  ["Nobody 2", "Nobody 3", "Nobody 4"]
expect "joins", Patient.joins(:visits).where(visits: { ward: "A" }).distinct.order(id: :desc).first.name, "Nobody 1"
expect "eager_load", Patient.eager_load(:visits).order(id: :desc).limit(2).map { |p| p.visits.size }, [2, 2]
expect "find_each", Patient.find_each(batch_size: 7).to_a.size, 30
expect "as_json", Patient.find(-1).as_json["name"], "Nobody 1"
if alone
  expect "count", Patient.count, 30
  expect "exists", Patient.where(smoker: true).exists?, true
  expect "group", Patient.group(:ward).count, { "A" => 15, "B" => 15 }
end
puts "ok"
