package main

import (
	"fmt"
	"time"
)

// pagila makes the rows of a lender of films: 599 customers with 12 to 46 rentals each, in five waves of the summer of
// 2005 and on one day of 2006, of which nothing has come back.
func pagila() *rows {
	r := newRows(2005)
	r.films()
	r.people()
	inventory, rented := r.table("inventory (inventory_id, film_id, store_id)"), make([]int, 0, 4581)
	for film, copies := range r.counts(958, 4581, 2, 8, 4.8, 1.6) {
		for range copies {
			rented = append(rented, film)
			inventory(len(rented), film+1, 1+r.pick(2270, 2311))
		}
	}
	r.rentals(rented)
	return r
}

// lent is what the price of a film is made of. It follows from the film's number.
func lent(film int) (rate float64, days int) { return float64(film*7%3)*2 + 0.99, 3 + film*11%5 }

// ofKinds are how many films there are of each category.
var ofKinds = []float64{64, 66, 60, 57, 58, 68, 62, 69, 73, 61, 56, 51, 63, 61, 74, 57}

func (r *rows) films() {
	language, category := r.table("language (language_id, name)"), r.table("category (category_id, name)")
	for i := range 6 {
		language(i+1, named("Language", i+1))
	}
	for i := range ofKinds {
		category(i+1, named("Kind", i+1))
	}
	film := r.table(
		"film (film_id, title, description, release_year, language_id, rental_duration, rental_rate, length, " +
			"replacement_cost, rating)")
	of, actor := r.table("film_category (film_id, category_id)"), r.table("actor (actor_id, first_name, last_name)")
	plays := r.table("film_actor (actor_id, film_id)")
	for i := range 200 {
		actor(i+1, named("Given", i%70), named("Family", i))
	}
	ratings := []string{"G", "PG", "PG-13", "R", "NC-17"}
	for i := range 1000 {
		rate, days := lent(i)
		cost := float64(9+r.IntN(21)) + 0.99
		rating := ratings[r.pick(178, 194, 223, 195, 210)]
		film(i+1, named("FILM", i+1), "Made up", 2006, 1, days, rate, 46+r.IntN(140), cost, rating)
		of(i+1, 1+r.pick(ofKinds...))
		for j := range 1 + r.IntN(10) {
			plays(1+(i*13+j*29)%200, i+1)
		}
	}
}

// people makes customers, of two shops and of countries of which few have many.
func (r *rows) people() {
	country, city := r.table("country (country_id, country)"), r.table("city (city_id, city, country_id)")
	address := r.table("address (address_id, address, district, city_id, postal_code, phone)")
	for i := range 109 {
		country(i+1, named("Country", i+1))
	}
	for i := range 600 {
		city(i+1, named("City", i+1), 1+int(109*r.Float64()*r.Float64()*r.Float64()))
	}
	for i := range 603 {
		address(i+1, named("Long Street", i+1), named("District", i%300), 1+i%600, 10000+i, 555000000+i)
	}
	store := r.table("store (store_id, manager_staff_id, address_id)")
	staff := r.table("staff (staff_id, first_name, last_name, address_id, email, store_id, username)")
	for i := 1; i <= 2; i++ {
		store(i, i, i)
		staff(i, named("Given", i), named("Boss", i), 2+i, named("mail", i), i, named("boss", i))
	}
	customer := r.table("customer (customer_id, store_id, first_name, last_name, email, address_id, create_date, active)")
	for i := range 599 {
		given, family := named("Given", r.IntN(400)), named("Family", i)
		customer(i+1, 1+r.pick(326, 273), given, family, named("mail", i), 5+i, "2006-02-14", r.pick(15, 584))
	}
}

// waves are the days on which films are lent, and how many.
var waves = []struct {
	from, to time.Time
	rentals  float64
}{
	{day(2005, 5, 24), day(2005, 6, 1), 1156},
	{day(2005, 6, 14), day(2005, 6, 22), 2311},
	{day(2005, 7, 5), day(2005, 7, 13), 3300},
	{day(2005, 7, 26), day(2005, 8, 3), 4700},
	{day(2005, 8, 16), day(2005, 8, 24), 4395},
	{day(2006, 2, 14), day(2006, 2, 15), 182},
}

func (r *rows) rentals(films []int) {
	rental := r.table("rental (rental_id, rental_date, inventory_id, customer_id, return_date, staff_id)")
	payment := r.table("payment (payment_id, customer_id, staff_id, rental_id, amount, payment_date)")
	id := 0
	weights := make([]float64, len(waves))
	for i, w := range waves {
		weights[i] = w.rentals
	}
	for customer, n := range r.counts(599, 16044, 12, 46, 26.8, 5.2) {
		for range n {
			id++
			wave := waves[r.pick(weights...)]
			from, copied, clerk := r.between(wave.from, wave.to), r.IntN(len(films)), 1+r.IntN(2)
			rate, days := lent(films[copied])
			var back any
			amount := rate
			if wave.from.Year() == 2005 {
				kept := time.Duration(18+r.Float64()*204) * time.Hour
				back = from.Add(kept + time.Duration(r.IntN(60))*time.Minute)
				amount += float64(max(0, int(kept.Hours()/24)-days))
			}
			if r.IntN(670) == 0 {
				amount = 0
			}
			rental(id, from, copied+1, customer+1, back, clerk)
			payment(id, customer+1, clerk, id, fmt.Sprintf("%.2f", amount), from)
			if id%3200 == 0 { // five were paid twice
				payment(100000+id, customer+1, clerk, id, "0.99", from)
			}
		}
	}
}
